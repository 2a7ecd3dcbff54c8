import type { Output } from "../../shared/cli/output.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { STACK_IS_DOWN } from "../calls/addresses.ts";
import { tenantIfGiven } from "../calls/tenants.ts";
import { checkCampaignMessages } from "../check/campaign-messages.ts";
import { checkCampaigns } from "../check/campaigns.ts";
import { checkCharges } from "../check/charges.ts";
import { checkCurrencies } from "../check/currencies.ts";
import { checkInbound } from "../check/inbound.ts";
import { checkMessages } from "../check/messages.ts";
import { checkOptOuts } from "../check/opt-outs.ts";
import { type CheckReport, type CheckRun, withStreamsClosed } from "../check/report.ts";
import { checkWallets } from "../check/wallets.ts";
import type { Run } from "../cli/command.ts";

/** The parts of a check, in this order: settlements are read after the messages they settle. */
const PARTS: readonly (readonly [string, (run: CheckRun) => Promise<CheckReport>])[] = [
  ["messages", checkMessages],
  ["charges", checkCharges],
  ["wallets", checkWallets],
  ["currencies", checkCurrencies],
  ["campaigns", checkCampaigns],
  ["messages of campaigns", (run) => checkCampaignMessages(run)],
  ["opt-outs", checkOptOuts],
  ["inbound messages", checkInbound],
];

/** Proves the invariants of docs/invariants.md on live data. */
export const check: Run = async (context) => {
  const { clients, output, signal } = context;
  const startedAtMs = Date.now();
  const tenantId = await tenantIfGiven(context);
  const reports = await withStreamsClosed(signal, (ended) =>
    checkAll({ clients, tenantId, note: output.note, signal: ended }, output),
  );
  const breaches = reports
    .flatMap((report) => report.breaches)
    .map(({ invariant, what, ids }) => ({ invariant, what, ids: [...ids] }));
  const unlisted = reports.reduce((sum, report) => sum + report.unlisted, 0);
  const compared = Object.assign({}, ...reports.map((report) => report.compared)) as Record<
    string,
    number
  >;
  const unfinished = reports.flatMap((report) => report.unfinished ?? []);
  const isOk = breaches.length === 0 && unfinished.length === 0;
  await output.result({
    ok: isOk,
    breaches,
    ...(unlisted === 0 ? {} : { unlisted }),
    ...(unfinished.length === 0 ? {} : { unfinished }),
    ...compared,
  });
  const sent = breaches.slice(0, SENT_MAX);
  const counted = Object.entries(compared).map(([name, count]) => [name, BigInt(count)] as const);
  const run = {
    tenantId,
    startedAtMs: BigInt(startedAtMs),
    ok: isOk,
    breaches: sent,
    unfinished,
    unlisted: BigInt(unlisted + breaches.length - sent.length),
    compared: Object.fromEntries(counted),
  };
  // Whether the result can be stored does not change the exit code.
  await clients.tenants.recordCheck(run, { timeoutMs: 5000 }).catch((thrown: unknown) => {
    output.note(`the result was not stored: ${toAppError(thrown).message}`);
  });
  return isOk ? 0 : 1;
};

/** Breaches that are sent with the result; the tenant service stores the first 100. */
const SENT_MAX = 200;

/** Runs every part even if others fail; throws when all failed, and at once when the stack is down. */
async function checkAll(run: CheckRun, output: Output): Promise<CheckReport[]> {
  const reports: CheckReport[] = [];
  const failures: unknown[] = [];
  for (const [name, check] of PARTS) {
    const report = await check(run).catch((thrown: unknown) => {
      run.signal.throwIfAborted();
      failures.push(thrown);
      const { code, message } = toAppError(thrown);
      if (message.startsWith(STACK_IS_DOWN)) throw thrown;
      const unfinished = `${name} were not checked to their end: ${message} (${code})`;
      return { breaches: [], unlisted: 0, compared: {}, unfinished };
    });
    printReport(report, output);
    reports.push(report);
  }
  if (failures.length === PARTS.length) throw failures[0];
  return reports;
}

/** Prints a part's breaches at once: later parts may take long or fail. */
function printReport({ breaches, unlisted, unfinished }: CheckReport, output: Output): void {
  for (const { invariant, what, ids } of breaches) {
    output.note(`invariant ${invariant}: ${what}: ${ids.join(", ")}`);
  }
  if (unlisted > 0) output.note(`AND ${unlisted} MORE BREACHES`);
  if (unfinished !== undefined) output.note(`NOT EVERYTHING WAS COMPARED: ${unfinished}`);
}
