import { randomBytes } from "node:crypto";
import { EXIT } from "../../../services/shared/cli/exit-codes.ts";
import { defined } from "../../../services/shared/cli/options.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { TRAFFIC_CLASSES } from "../../../services/shared/core/traffic-class.ts";
import type { CommandContext, Run } from "../cli/command.ts";
import { toCliError } from "../cli/errors.ts";
import { readWord, toInstant } from "../cli/words.ts";

export const send: Run = async (context) => {
  const { options } = context;
  const to = options.list("to");
  const isFile = options.optional("csv") !== undefined;
  if (isFile === to.length > 0) throw wrong("Give either --to or --csv.");
  if (!isFile) return sendTo(context, to);
  if (options.optional("at") !== undefined) {
    throw wrong("--at cannot be given with --csv: create a campaign to send a file later.");
  }
  return (await import("./send-file.ts")).sendFile(context);
};

/** One number is a send, several are a bulk send. */
async function sendTo(context: CommandContext, to: readonly string[]): Promise<number> {
  const { connect, options, output, signal } = context;
  const sms = connect();
  // Made here, so that the error of a lost response can name it.
  const idempotencyKey =
    options.named("idempotency-key") ?? `sms-${randomBytes(16).toString("hex")}`;
  const content = {
    from: options.required("from"),
    body: options.required("body"),
    ...defined({
      send_at: toInstant(options.instant("at")),
      client_reference: options.named("reference"),
      traffic_class: readWord(options, "class", TRAFFIC_CLASSES),
    }),
  };
  const call = { idempotencyKey, signal };
  const [only = ""] = to;
  try {
    if (to.length === 1) {
      await output.result(await sms.messages.send({ ...content, to: only }, call));
      return 0;
    }
    const sent = await sms.messages.sendBulk({ ...content, to: [...to] }, call);
    await output.result({ ...sent });
    return sent.rejected > 0 ? EXIT.refused : 0;
  } catch (thrown) {
    if (signal.aborted) {
      process.stderr.write(
        `sms: interrupted; it may have been sent. ${repeatHint(idempotencyKey)}\n`,
      );
      throw thrown;
    }
    const error = toCliError(thrown);
    if (error.code !== "service_unavailable") throw error;
    const text = `${error.message} ${repeatHint(idempotencyKey)}`;
    throw new AppError(error.code, text, { cause: thrown });
  }
}

function repeatHint(key: string): string {
  return `A repeat with --idempotency-key ${key} sends nothing twice.`;
}

function wrong(text: string): AppError {
  return new AppError("validation_error", text);
}
