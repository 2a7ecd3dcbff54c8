import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import {
  admitPerson,
  asPerson,
  type ConsoleRoute,
  compileBody,
  readJson,
} from "./console-request.ts";
import { respondWithSession } from "./sign-in.ts";

const validateTenant = compileBody({ tenant_id: { type: "string", minLength: 1, maxLength: 64 } });

/** Moves the session to another account of the person, under a new secret. */
export const switchTenant: ConsoleRoute = async (parts, context) => {
  const { caller, session } = await admitPerson(parts, context);
  const { tenant_id } = await readJson(parts, context, validateTenant);
  const opened = await asPerson(context, caller, () =>
    rpcAnswer(parts.tenants.switchTenant({ sessionId: session.id, tenantId: String(tenant_id) })),
  );
  respondWithSession(context, opened);
};
