import { formatWhen } from "../../../services/shared/cli/time.ts";
import { AppError, isRetryable } from "../../../services/shared/core/errors.ts";
import { EVENT_TYPES } from "../../../services/shared/core/event-types.ts";
import { pause } from "../../../services/shared/flow/backoff.ts";
import type { SmsClient } from "../../typescript/src/client.ts";
import { accountOf } from "../calls/connect.ts";
import {
  answerText,
  deliverLocally,
  localSecret,
  readForwardUrl,
} from "../calls/local-endpoint.ts";
import type { CommandContext, Run } from "../cli/command.ts";
import { toCliError } from "../cli/errors.ts";
import { readWords } from "../cli/words.ts";

/** The pause after an outage that outlasted the client's own retries. */
const AGAIN_MS = 2000;

type Event = Awaited<ReturnType<SmsClient["events"]["read"]>>["data"][number];

export const listen: Run = async (context) => {
  const { options, output, signal, connect } = context;
  const secret = localSecret(accountOf(options, process.env).api_key);
  if (options.isSet("print-secret")) return void process.stdout.write(`${secret}\n`);
  const { isForPeople } = output;
  if (!isForPeople && options.optional("output") !== "json" && !options.isSet("json")) {
    throw new AppError("validation_error", "listen prints lines, or with --json one event a line.");
  }
  const given = options.named("forward-to");
  const url = given === undefined ? undefined : readForwardUrl(given);
  const types = readWords(options, "events", EVENT_TYPES);
  const query = types === undefined ? {} : { event_type: types };
  const sms = connect();
  // From here on no event is missed: the cursor is the place of the next one.
  let { next_cursor: cursor } = await sms.events.read(query, { signal });
  output.more(`Ready: the events of ${sms.mode} mode. Ctrl-C ends.`);
  if (url !== undefined) output.note(`To ${url}, signed with ${secret}`);
  while (!signal.aborted) {
    try {
      for await (const page of sms.events.follow({ ...query, cursor }, { signal }).pages()) {
        for (const event of page.data) await handle(context, event, url, secret);
        if (page.next_cursor !== null) cursor = page.next_cursor;
      }
    } catch (thrown) {
      signal.throwIfAborted();
      const error = toCliError(thrown);
      if (error.code === "internal_error" || !isRetryable(error.code)) throw thrown;
      // The cursor stays, so that an outage loses no event.
      output.failed(error);
      await pause(AGAIN_MS, signal);
    }
  }
};

async function handle(
  { options, output, signal }: CommandContext,
  event: Event,
  url: string | undefined,
  secret: string,
): Promise<void> {
  if (!output.isForPeople) process.stdout.write(`${JSON.stringify(event)}\n`);
  const answer = url === undefined ? undefined : await deliverLocally(url, secret, event, signal);
  const at = formatWhen(event.created_at, options.isSet("utc"));
  const about = subjectOf(event);
  const result = answer === undefined ? "" : `  → ${answerText(answer)}`;
  output.note(`${at}  ${event.type.padEnd(22)}  ${event.id}${about}${result}`);
}

/** The id of the thing that changed, or the number of a person. */
function subjectOf(event: Event): string {
  const { object } = event.data as { readonly object?: { readonly id?: string; number?: string } };
  const subject = object?.id ?? object?.number;
  return subject === undefined ? "" : `  ${subject}`;
}
