import { hostname, userInfo } from "node:os";
import { PersonSchema, Role } from "../../../proto/gen/sms/v1/identity_pb.js";
import { OperatorRole, OperatorSchema } from "../../../proto/gen/sms/v1/operator_pb.js";
import { readEnumWord } from "../../shared/cli/enum-word.ts";
import { AppError } from "../../shared/core/errors.ts";
import { tenantId } from "../calls/tenants.ts";
import type { CommandContext, Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

const MINUTE_MS = 60_000;

export const link: Run = async (context) => {
  const { clients, options, output } = context;
  if (options.isSet("operator")) return operatorLink(context);
  if (options.optional("person") !== undefined) {
    throw new AppError(
      "validation_error",
      "--person is for --operator; a tenant's link has --name.",
    );
  }
  const { url, expiresAtMs } = await clients.tenants.createPortalLink({
    tenantId: await tenantId(context),
    role: readRole(context),
    displayName: options.named("name") ?? "",
    lifetimeMs: lifetimeMs(context),
  });
  await output.result({ url, expires_at: new Date(Number(expiresAtMs)).toISOString() });
  output.note(ONCE);
  return 0;
};

const ONCE = "The link signs in once. Anyone who has it can sign in.";

async function operatorLink(context: CommandContext): Promise<number> {
  const { clients, options, output } = context;
  for (const name of ["tenant", "name"]) {
    if (options.optional(name) === undefined) continue;
    throw new AppError("validation_error", `--${name} and --operator exclude each other.`);
  }
  const role = options.optional("role");
  const made = await clients.tenants.createOperatorLink({
    person: options.optional("person") ?? localPerson(),
    role: role === undefined ? OperatorRole.UNSPECIFIED : readEnumWord(OperatorRole, role, "role"),
    lifetimeMs: lifetimeMs(context),
  });
  const operator = made.operator === undefined ? {} : toJson(OperatorSchema, made.operator);
  const expires_at = new Date(Number(made.expiresAtMs)).toISOString();
  await output.result({ url: made.url, expires_at, ...operator });
  output.note(ONCE);
  return 0;
}

/** The user of this command in the form of an e-mail address. */
function localPerson(): string {
  const host = hostname().toLowerCase();
  return `${userInfo().username}@${host.includes(".") ? host : `${host}.local`}`;
}

export const operators: Run = async ({ clients, output }) => {
  const { operators } = await clients.tenants.listOperators({});
  await output.list(
    operators.map((operator) => toJson(OperatorSchema, operator)),
    { columns: ["person", "role", "created_at", "last_sign_in_at"] },
  );
  return 0;
};

export const removeOperator: Run = async ({ clients, options, output }) => {
  const person = options.word(0, "The operator's e-mail address");
  await clients.tenants.removeOperator({ person });
  await output.result({ removed: person });
  return 0;
};

function lifetimeMs({ options }: CommandContext): bigint {
  return BigInt((options.count("lifetime-minutes") ?? 0) * MINUTE_MS);
}

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
