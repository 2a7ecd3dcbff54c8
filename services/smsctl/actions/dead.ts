import { DeadLetterSchema } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { mergePages, readUpToLimit } from "../calls/pages.ts";
import { createdWithin } from "../calls/time-range.ts";
import { LONG_CALL } from "../calls/timeouts.ts";
import type { Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

export const list: Run = async ({ clients, options, output }) => {
  const isWanted = createdWithin(options);
  const { items, nextCursor } = await readUpToLimit(options, 100, async (wish) => {
    const pages = await Promise.all([
      clients.webhooks.listDeadLetters(wish),
      clients.wallets.listDeadLetters(wish),
      clients.campaigns.listDeadLetters(wish),
    ]);
    const page = mergePages(
      pages.map(({ deadLetters, nextCursor }) => ({ items: deadLetters, nextCursor })),
      { limit: wish.limit },
    );
    return { ...page, items: page.items.filter(isWanted) };
  });
  await output.list(
    items.map((letter) => toJson(DeadLetterSchema, letter)),
    { columns: ["id", "created_at", "subject…", "reason…"] },
  );
  if (nextCursor !== "") output.more(`more: --cursor ${nextCursor}`);
  return 0;
};

export const replay: Run = async ({ clients, options, output }) => {
  const ids = [...new Set(options.rest())];
  // Each service ignores ids of the others.
  const answers = await Promise.all([
    clients.webhooks.replayDeadLetters({ ids }, LONG_CALL),
    clients.wallets.replayDeadLetters({ ids }, LONG_CALL),
    clients.campaigns.replayDeadLetters({ ids }, LONG_CALL),
  ]);
  const replayed = answers.reduce((sum, answer) => sum + answer.replayed, 0);
  await output.result({ replayed });
  if (replayed >= ids.length) return 0;
  const missed = `${ids.length - replayed} of ${ids.length} were not: unknown, or refused again.`;
  return output.failed(new AppError("conflict", missed));
};
