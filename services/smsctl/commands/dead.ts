import { DeadLetterSchema } from "../../../proto/gen/sms/v1/webhook_pb.js";
import type { Commands } from "../command.ts";
import { present } from "../present.ts";

/** `smsctl dead …`: events that could not be handled. */
export const DEAD_COMMANDS: Commands = {
  list: {
    usage: "dead list [--limit N]",
    async run({ clients, options, output }) {
      const limit = options.whole("limit") ?? 100;
      const [webhook, wallet] = await Promise.all([
        clients.webhooks.listDeadLetters({ limit }),
        clients.wallets.listDeadLetters({ limit }),
      ]);
      const letters = [...webhook.deadLetters, ...wallet.deadLetters];
      output.result(letters.map((letter) => present(DeadLetterSchema, letter)));
      return 0;
    },
  },
  replay: {
    usage: "dead replay [ID…] (none means all)",
    async run({ clients, options, output }) {
      const ids: string[] = [];
      for (let at = 2; options.optionalWord(at) !== undefined; at += 1) {
        ids.push(options.word(at, "An id"));
      }
      // Each service leaves ids alone that are not its own.
      const answers = await Promise.all([
        clients.webhooks.replayDeadLetters({ ids }),
        clients.wallets.replayDeadLetters({ ids }),
      ]);
      output.result({ replayed: answers.reduce((sum, { replayed }) => sum + replayed, 0) });
      return 0;
    },
  },
};
