import { PersonSchema, Role } from "../../../proto/gen/sms/v1/identity_pb.js";
import { readEnumWord } from "../../shared/cli/enum-word.ts";
import { AppError } from "../../shared/core/errors.ts";
import { tenantId } from "../calls/tenants.ts";
import type { CommandContext, Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

const MINUTE_MS = 60_000;

export const link: Run = async (context) => {
  const { clients, options, output } = context;
  const { url, expiresAtMs } = await clients.tenants.createPortalLink({
    tenantId: await tenantId(context),
    role: readRole(context),
    displayName: options.named("name") ?? "",
    lifetimeMs: BigInt((options.count("lifetime-minutes") ?? 0) * MINUTE_MS),
  });
  await output.result({ url, expires_at: new Date(Number(expiresAtMs)).toISOString() });
  output.note("The link signs in once; who has it is signed in.");
  return 0;
};

export const people: Run = async (context) => {
  const { people } = await context.clients.tenants.listPeople({
    tenantId: await tenantId(context),
  });
  await context.output.list(
    people.map((person) => toJson(PersonSchema, person)),
    { columns: ["id", "email", "role", "second_factor", "invited_at", "joined_at"] },
  );
  return 0;
};

export const invite: Run = async (context) => {
  const { clients, options, output } = context;
  const { person } = await clients.tenants.invitePerson({
    tenantId: await tenantId(context),
    email: options.word(0, "The e-mail address"),
    role: readRole(context),
  });
  if (person === undefined) throw new AppError("internal_error", "The answer is empty.");
  await output.result(toJson(PersonSchema, person));
  return 0;
};

export const remove: Run = async (context) => {
  const { clients, options, output } = context;
  const personId = options.word(0, "The person's id");
  await clients.tenants.removePerson({ tenantId: await tenantId(context), personId });
  await output.result({ removed: personId });
  return 0;
};

export const resetFactor: Run = async (context) => {
  const { clients, options, output } = context;
  const personId = options.word(0, "The person's id");
  const id = await tenantId(context);
  await clients.tenants.resetSecondFactor({ tenantId: id, personId, inAllTenants: true });
  await output.result({ reset: personId });
  return 0;
};

function readRole({ options }: CommandContext): Role {
  return readEnumWord(Role, options.named("role") ?? "owner", "role");
}
