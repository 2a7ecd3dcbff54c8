import { type DestinationStream, destination, type Logger, pino } from "pino";

/**
 * Names whose values never reach a log line. Bodies, numbers and secrets are personal data or
 * keys; call sites must not log them, and this list is the second fence.
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

/** What is kept for a reader of the log that stands still, in octets; lines beyond it are lost. */
const UNREAD_MAX = 16_777_216;

/** Makes a process's logger: one JSON object a line on standard output. */
export function createLogger(
  service: string,
  level = "info",
  stream: DestinationStream = destination({
    dest: 1,
    sync: false,
    maxLength: UNREAD_MAX,
  }),
  /** Fields that every line gets, asked for at each. */
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

/** What a log line says of an error: its name, text, code, stack and causes, five deep at most. */
export function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const described: Record<string, unknown> = { name: error.name, message: error.message };
  if ("code" in error) described.code = error.code;
  if (depth === 0) described.stack = error.stack;
  if (error.cause !== undefined && depth < 5) {
    described.cause = describeError(error.cause, depth + 1);
  }
  return described;
}
