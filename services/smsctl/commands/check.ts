import { checkCharges } from "../check/charges.ts";
import { checkMessages } from "../check/messages.ts";
import { type CheckReport, type CheckRun, untilChecked } from "../check/report.ts";
import { checkWallets } from "../check/wallets.ts";
import type { Command } from "../command.ts";
import { resolveTenant } from "../tenants.ts";

/** `smsctl check`: proves the invariants of the design on the live data. */
export const CHECK_COMMAND: Command = {
  usage: "check [--tenant T]",
  endsItself: true,
  async run({ clients, options, output, signal }) {
    const named = options.optional("tenant");
    const tenantId = named === undefined ? "" : await resolveTenant(clients, named);
    const reports = await untilChecked(signal, (ended) =>
      checkAll({ clients, tenantId, note: output.note, signal: ended }),
    );
    const breaches = reports.flatMap((report) => report.breaches);
    const unlisted = reports.reduce((sum, report) => sum + report.unlisted, 0);
    const looked = Object.assign({}, ...reports.map((report) => report.looked)) as Record<
      string,
      number
    >;
    for (const { invariant, what, ids } of breaches) {
      output.note(`invariant ${invariant}: ${what}: ${ids.join(", ")}`);
    }
    if (unlisted > 0) output.note(`AND ${unlisted} MORE BREACHES`);
    const unfinished = reports.flatMap((report) => report.unfinished ?? []);
    for (const what of unfinished) output.note(`NOT EVERYTHING WAS COMPARED: ${what}`);
    const isOk = breaches.length === 0 && unfinished.length === 0;
    output.result({
      ok: isOk,
      breaches: breaches.map(({ invariant, what, ids }) => ({ invariant, what, ids: [...ids] })),
      ...(unlisted === 0 ? {} : { unlisted }),
      ...(unfinished.length === 0 ? {} : { unfinished }),
      ...looked,
    });
    return isOk ? 0 : 1;
  },
};

async function checkAll(run: CheckRun): Promise<CheckReport[]> {
  return [
    await checkMessages(run),
    // Settlements are read after messages, so what is settled has long been decided.
    await checkCharges(run),
    await checkWallets(run),
  ];
}
