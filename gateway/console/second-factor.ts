import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import {
  admitPerson,
  asPerson,
  type ConsoleRoute,
  compileBody,
  readJson,
} from "./console-request.ts";

const validateCode = compileBody({ code: { type: "string", minLength: 1, maxLength: 64 } });

/** Whether the person has a second factor. */
export const showSecondFactor: ConsoleRoute = async (parts, context) => {
  const { session } = await admitPerson(parts, context);
  const { available, enabled, enabledAtMs, recoveryCodesLeft } = await rpcAnswer(
    parts.tenants.getSecondFactor({ sessionId: session.id }),
  );
  context.body = {
    data: {
      object: "second_factor",
      available,
      enabled,
      enabled_at: enabled ? new Date(Number(enabledAtMs)).toISOString() : null,
      recovery_codes_left: recoveryCodesLeft,
    },
  };
};

/** Shows a new secret. The factor is on only after a code has confirmed the secret. */
export const beginSecondFactor: ConsoleRoute = async (parts, context) => {
  const { caller, session } = await admitPerson(parts, context);
  const { secret, uri } = await asPerson(context, caller, () =>
    rpcAnswer(parts.tenants.beginSecondFactor({ sessionId: session.id })),
  );
  context.status = 201;
  context.body = { data: { object: "second_factor_secret", secret, uri } };
};

/** Turns the second factor on, and shows the recovery codes. */
export const enableSecondFactor: ConsoleRoute = async (parts, context) => {
  const { caller, session } = await admitPerson(parts, context);
  const { code } = await readJson(parts, context, validateCode);
  const { recoveryCodes } = await asPerson(context, caller, () =>
    rpcAnswer(parts.tenants.enableSecondFactor({ sessionId: session.id, code: String(code) })),
  );
  context.body = { data: { object: "recovery_codes", codes: recoveryCodes } };
};

export const disableSecondFactor: ConsoleRoute = async (parts, context) => {
  const { caller, session } = await admitPerson(parts, context);
  const { code } = await readJson(parts, context, validateCode);
  await asPerson(context, caller, () =>
    rpcAnswer(parts.tenants.disableSecondFactor({ sessionId: session.id, code: String(code) })),
  );
  context.status = 204;
};
