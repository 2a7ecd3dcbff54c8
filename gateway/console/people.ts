import type { Person } from "../../proto/gen/sms/v1/identity_pb.js";
import { AppError } from "../../services/shared/core/errors.ts";
import { ROLES, type Role } from "../../services/shared/core/roles.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { roleName, WIRE_ROLE } from "../../services/shared/rpc/role.ts";
import type { Caller } from "../auth/caller.ts";
import type { RequestState } from "../http/request-state.ts";
import {
  admitPerson,
  asPerson,
  type ConsoleParts,
  type ConsoleRoute,
  compileBody,
  readJson,
} from "./console-request.ts";

const ROLE = { type: "string", enum: ROLES } as const;
const validateInvitation = compileBody({
  email: { type: "string", minLength: 3, maxLength: 254 },
  role: ROLE,
});
const validateRole = compileBody({ role: ROLE });

/** The scope of sessions alone; no API key can have it. */
const SCOPE = "people:manage";

/** The people of the account. */
export const listPeople: ConsoleRoute = async (parts, context) => {
  const { tenantId } = await admitOwner(parts, context);
  const { people } = await rpcAnswer(parts.tenants.listPeople({ tenantId }));
  context.body = { data: people.map(renderPerson) };
};

/** Invites a person by e-mail. */
export const invitePerson: ConsoleRoute = async (parts, context) => {
  const caller = await admitOwner(parts, context);
  const { email, role } = await readJson(parts, context, validateInvitation);
  const invitation = {
    tenantId: caller.tenantId,
    email: String(email),
    role: WIRE_ROLE[role as Role],
  };
  const { person } = await asPerson(context, caller, () =>
    rpcAnswer(parts.tenants.invitePerson(invitation)),
  );
  context.status = 201;
  context.body = { data: renderFound(person) };
};

/** Gives a person another role. */
export const changeRole: ConsoleRoute = async (parts, context) => {
  const caller = await admitOwner(parts, context);
  const { role } = await readJson(parts, context, validateRole);
  const change = {
    tenantId: caller.tenantId,
    personId: personOf(context.state as RequestState),
    role: WIRE_ROLE[role as Role],
  };
  const { person } = await asPerson(context, caller, () =>
    rpcAnswer(parts.tenants.changeRole(change)),
  );
  context.body = { data: renderFound(person) };
};

/** Removes a person, who is signed out within five seconds. */
export const removePerson: ConsoleRoute = async (parts, context) => {
  const caller = await admitOwner(parts, context);
  const removal = {
    tenantId: caller.tenantId,
    personId: personOf(context.state as RequestState),
  };
  await asPerson(context, caller, () => rpcAnswer(parts.tenants.removePerson(removal)));
  context.status = 204;
};

/** Turns off the second factor of a person who lost it. */
export const resetSecondFactor: ConsoleRoute = async (parts, context) => {
  const caller = await admitOwner(parts, context);
  const reset = {
    tenantId: caller.tenantId,
    personId: personOf(context.state as RequestState),
  };
  await asPerson(context, caller, () => rpcAnswer(parts.tenants.resetSecondFactor(reset)));
  context.status = 204;
};

async function admitOwner(
  parts: ConsoleParts,
  context: Parameters<ConsoleRoute>[1],
): Promise<Caller> {
  const { caller, session } = await admitPerson(parts, context);
  if (caller.scopes.has(SCOPE)) return caller;
  throw new AppError("insufficient_scope", `The role ${session.role} lacks the scope ${SCOPE}.`);
}

/** The person's id in the path. */
function personOf({ path }: RequestState): string {
  return /usr_[0-9A-Z]{26}/.exec(path)?.[0] ?? "";
}

function renderFound(person: Person | undefined) {
  if (person === undefined) throw new AppError("not_found", "There is no such person.");
  return renderPerson(person);
}

function renderPerson(person: Person) {
  return {
    object: "person",
    id: person.id,
    email: person.email,
    role: roleName(person.role),
    invited_at: new Date(Number(person.invitedAtMs)).toISOString(),
    second_factor: person.secondFactor,
    joined_at: person.joinedAtMs === 0n ? null : new Date(Number(person.joinedAtMs)).toISOString(),
  };
}
