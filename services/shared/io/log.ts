import { type DestinationStream, destination, type Logger, pino } from "pino";

/**
 * Names whose values never reach a log line. Call sites must not log bodies, numbers and secrets, which are
 * personal data or keys; this list is the second protection.
 */
const REDACTED_NAMES = [
  "authorization",
  "body",
  "client_reference",
  "from",
  "input",
  "password",
  "secret",
  "system_id",
  "to",
  "token",
];

/** The buffer for a log reader that is blocked, in bytes; later lines are dropped. */
const UNREAD_MAX = 16_777_216;

/** Creates a process's logger: one JSON object per line on standard output. */
export function createLogger(
  service: string,
  level = "info",
  stream: DestinationStream = destination({
    dest: 1,
    sync: false,
    maxLength: UNREAD_MAX,
  }),
  /** Fields of every line, computed for each. */
  fields?: () => Record<string, string>,
): Logger {
  return pino(
    {
      level,
      base: { service },
      messageKey: "message",
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: REDACTED_NAMES.flatMap((name) => [name, `*.${name}`]),
        censor: "[redacted]",
      },
      serializers: { error: describeError },
      ...(fields === undefined ? {} : { mixin: fields }),
    },
    stream,
  );
}

/** The logged form of an error: name, text, code, stack and at most five levels of causes. */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const described: Record<string, unknown> = { name: error.name, message: error.message };
  if ("code" in error) described.code = error.code;
  if (depth === 0) described.stack = error.stack;
  if (error.cause !== undefined && depth < 5) {
    described.cause = describeError(error.cause, depth + 1);
  }
  return described;
}
