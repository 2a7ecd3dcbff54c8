import { DeadLetterSchema } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { mergePages, readUpToLimit } from "../calls/pages.ts";
import { LONG_CALL } from "../calls/timeouts.ts";
import type { Commands } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

/** `smsctl dead …`: events that consumers failed to process. */
export const DEAD_COMMANDS: Commands = {
  list: {
    usage: "dead list [--limit N --cursor C]",
    async run({ clients, options, output }) {
      const { items, nextCursor } = await readUpToLimit(options, 100, async (wish) => {
        const pages = await Promise.all([
          clients.webhooks.listDeadLetters(wish),
          clients.wallets.listDeadLetters(wish),
          clients.campaigns.listDeadLetters(wish),
        ]);
        return mergePages(
          pages.map(({ deadLetters, nextCursor }) => ({ items: deadLetters, nextCursor })),
          { limit: wish.limit },
        );
      });
      output.result(items.map((letter) => toJson(DeadLetterSchema, letter)));
      if (nextCursor !== "") output.more(`more: --cursor ${nextCursor}`);
      return 0;
    },
  },
  replay: {
    usage: "dead replay [ID…] (none means all)",
    async run({ clients, options, output }) {
      const ids = [...new Set(options.rest(2))];
      // Each service ignores ids of the others.
      const answers = await Promise.all([
        clients.webhooks.replayDeadLetters({ ids }, LONG_CALL),
        clients.wallets.replayDeadLetters({ ids }, LONG_CALL),
        clients.campaigns.replayDeadLetters({ ids }, LONG_CALL),
      ]);
      const replayed = answers.reduce((sum, answer) => sum + answer.replayed, 0);
      output.result({ replayed });
      if (replayed >= ids.length) return 0;
      const missed = `${ids.length - replayed} of ${ids.length} were not: unknown, or refused again.`;
      return output.failed(new AppError("conflict", missed));
    },
  },
};
