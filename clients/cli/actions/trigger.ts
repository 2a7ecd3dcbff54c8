/** Causes events: real ones in test mode, or a sample that goes to a server on this computer only. */
import { closestMatch } from "leven";
import type { Row } from "../../../services/shared/cli/cell.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { EVENT_TYPES, type EventType } from "../../../services/shared/core/event-types.ts";
import type { SmsClient } from "../../typescript/src/client.ts";
import { causeInTestMode, isCausable } from "../calls/cause-event.ts";
import { accountOf } from "../calls/connect.ts";
import {
  answerText,
  deliverLocally,
  isAccepted,
  localSecret,
  readForwardUrl,
} from "../calls/local-endpoint.ts";
import { sampleEvent } from "../calls/sample-event.ts";
import type { CommandContext, Run } from "../cli/command.ts";

export const trigger: Run = async (context) => {
  const { connect, options, output } = context;
  const type = readType(options.word(0, "The event type"));
  const url = options.named("forward-to");
  if (url !== undefined) return forwardSample(context, type, readForwardUrl(url));
  if (type === "webhook.test") return testEndpoints(context);
  const sms = connect();
  if (!isCausable(type)) throw refused(`The API cannot cause ${type}.`);
  // A live message would reach a person and cost money.
  if (sms.mode !== "test") throw refused(`A live key causes no ${type}: use a test key.`);
  const from = options.named("from") ?? (await firstSender(sms));
  await output.result(await causeInTestMode(sms, type, from));
  output.note(`${type} follows: sms listen shows it, and endpoints of test mode receive it.`);
  return 0;
};

function readType(text: string): EventType {
  const known = EVENT_TYPES.find((type) => type === text);
  if (known !== undefined) return known;
  const near = closestMatch(text, EVENT_TYPES, { maxDistance: 4 });
  const hint = near === undefined ? `: ${EVENT_TYPES.join(", ")}.` : `. Did you mean ${near}?`;
  throw new AppError("validation_error", `${text} is no event type${hint}`);
}

function refused(text: string): AppError {
  const hint = " With --forward-to a sample goes to a server on this computer.";
  return new AppError("invalid_state_transition", `${text}${hint}`);
}

async function firstSender(sms: SmsClient): Promise<string> {
  for await (const { name } of sms.senderIds.list({ usable: true, limit: 1 })) return name;
  throw new AppError("sender_id_not_approved", "There is no usable sender ID: give --from.");
}

async function forwardSample(
  { options, output, signal }: CommandContext,
  type: EventType,
  url: string,
): Promise<number> {
  const { api_key, base_url } = accountOf(options, process.env);
  const event = await sampleEvent(base_url, type, signal);
  const answer = await deliverLocally(url, localSecret(api_key), event, signal);
  await output.result({ event_id: event.id, event_type: type, url, answer: answerText(answer) });
  return isAccepted(answer) ? 0 : 4;
}

async function testEndpoints({ connect, options, output }: CommandContext): Promise<number> {
  const { webhookEndpoints, mode } = connect();
  const wanted = options.named("endpoint");
  const ids = wanted === undefined ? [] : [wanted];
  if (wanted === undefined) {
    for await (const { id, status } of webhookEndpoints.list()) {
      if (status === "enabled") ids.push(id);
    }
  }
  if (ids.length === 0) {
    const text = `There is no enabled endpoint in ${mode} mode. POST /v1/webhook-endpoints makes one.`;
    throw new AppError("not_found", text);
  }
  const sent: Row[] = [];
  for (const id of ids) sent.push({ ...(await webhookEndpoints.sendTest(id)) });
  await output.list(sent, { columns: ["id", "endpoint_id", "status", "event_type", "created_at"] });
  return 0;
}
