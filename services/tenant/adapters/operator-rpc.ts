import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type {
  OperatorSchema,
  OperatorSessionSchema,
} from "../../../proto/gen/sms/v1/operator_pb.js";
import type { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { readOperatorRole, WIRE_OPERATOR_ROLE } from "../../shared/rpc/operator-role.ts";
import type { OidcSignInService } from "../app/oidc-sign-in.ts";
import type { OperatorService, SignedInOperator } from "../app/operators.ts";
import type { Operator } from "../domain/operator.ts";

const TOKEN_CHARS_MAX = 128;

/** The handlers for operators and their sessions: mapping between protobuf and the domain. */
export function operatorHandlers(
  operators: OperatorService,
  oidc: OidcSignInService,
  methods: { readonly oidcName: string },
): Partial<ServiceImpl<typeof TenantService>> {
  return {
    createOperatorLink: async ({ person, role, lifetimeMs }) => {
      const asked = readOperatorRole(role);
      const made = await operators.createLink(person, asked, Number(lifetimeMs));
      return {
        url: made.url,
        expiresAtMs: BigInt(made.expiresAtMs),
        operator: operatorToProto(made.operator),
      };
    },
    getOperatorSignInMethods: async () => methods,
    beginOperatorOidcSignIn: () => oidc.begin(),
    completeOperatorOidcSignIn: async ({ browserSecret, query }) => ({
      token: await oidc.complete(browserSecret.slice(0, TOKEN_CHARS_MAX), query),
    }),
    openOperatorSession: async ({ token, address, userAgent }) => {
      const opened = await operators.openSession(token.slice(0, TOKEN_CHARS_MAX), {
        address,
        userAgent,
      });
      return { session: sessionToProto(opened), secret: opened.secret };
    },
    authenticateOperator: async ({ secretSha256 }) => {
      const found = await operators.authenticate(secretSha256);
      return found === undefined ? {} : { session: sessionToProto(found) };
    },
    listOperatorSessions: async ({ sessionId }) => ({
      sessions: (await operators.listSessions(sessionId)).map(sessionToProto),
    }),
    endOperatorSession: async ({ sessionId, endedSessionId }) => {
      await operators.endSession(sessionId, endedSessionId || sessionId);
      return {};
    },
    listOperators: async () => ({
      operators: (await operators.listOperators()).map(operatorToProto),
    }),
    removeOperator: async ({ person }) => {
      await operators.removeOperator(person);
      return {};
    },
  };
}

function operatorToProto(operator: Operator): MessageInitShape<typeof OperatorSchema> {
  return {
    person: operator.person,
    role: WIRE_OPERATOR_ROLE[operator.role],
    createdAtMs: BigInt(operator.createdAtMs),
    lastSignInAtMs: BigInt(operator.lastSignInAtMs ?? 0),
  };
}

function sessionToProto({
  session,
  role,
}: SignedInOperator): MessageInitShape<typeof OperatorSessionSchema> {
  return {
    ...session,
    role: WIRE_OPERATOR_ROLE[role],
    createdAtMs: BigInt(session.createdAtMs),
    lastSeenAtMs: BigInt(session.lastSeenAtMs),
    expiresAtMs: BigInt(session.expiresAtMs),
  };
}
