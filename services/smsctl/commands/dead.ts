import { DeadLetterSchema } from "../../../proto/gen/sms/v1/webhook_pb.js";
import type { Commands } from "../command.ts";
import { present } from "../present.ts";

/** `smsctl dead …`: events that could not be handled. */
export const DEAD_COMMANDS: Commands = {
  list: {
    usage: "dead list [--limit N]",
    async run({ clients, options, output }) {
      const { deadLetters } = await clients.webhooks.listDeadLetters({
        limit: options.whole("limit") ?? 100,
      });
      output.result(deadLetters.map((letter) => present(DeadLetterSchema, letter)));
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
      const { replayed } = await clients.webhooks.replayDeadLetters({ ids });
      output.result({ replayed });
      return 0;
    },
  },
};
