import { checkCharges } from "../check/charges.ts";
import { checkMessages } from "../check/messages.ts";
import type { CheckReport } from "../check/report.ts";
import { checkWallets } from "../check/wallets.ts";
import type { Command } from "../command.ts";

/** `smsctl check`: proves the invariants of the design on the live data. */
export const CHECK_COMMAND: Command = {
  usage: "check",
  async run({ clients, output }) {
    const reports: CheckReport[] = [
      await checkMessages(clients, output.note),
      // Settlements are read after messages, so what is settled has long been decided.
      await checkCharges(clients, output.note),
      await checkWallets(clients, "", output.note),
    ];
    const breaches = reports.flatMap((report) => report.breaches);
    const looked = Object.assign({}, ...reports.map((report) => report.looked)) as Record<
      string,
      number
    >;
    for (const { invariant, what, ids } of breaches) {
      output.note(`invariant ${invariant}: ${what}: ${ids.join(", ")}`);
    }
    const unfinished = reports.flatMap((report) => report.unfinished ?? []);
    for (const what of unfinished) output.note(`NOT EVERYTHING WAS COMPARED: ${what}`);
    const isOk = breaches.length === 0 && unfinished.length === 0;
    output.result({
      ok: isOk,
      breaches: breaches.map(({ invariant, what, ids }) => ({ invariant, what, ids: [...ids] })),
      ...(unfinished.length === 0 ? {} : { unfinished }),
      ...looked,
    });
    return isOk ? 0 : 1;
  },
};
