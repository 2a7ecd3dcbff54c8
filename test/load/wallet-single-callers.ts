/**
 * Eight callers that each place one hold at a time on a wallet of their own, in a process of their
 * own: `node test/load/wallet-single-callers.ts <target> <milliseconds>` prints their rate as JSON.
 */
import { connectWallet } from "../support/wallet-process.ts";
import { newTenant, placeOne, rateFor } from "./wallet-calls.ts";

const CALLERS = 8;
const WARM_UP_MS = 1000;

const [target = "", durationMs = ""] = process.argv.slice(2);
const client = connectWallet(target);
const tenants = await Promise.all(Array.from({ length: CALLERS }, () => newTenant(client)));
const call = placeOne(client, ...tenants);
await rateFor(WARM_UP_MS, CALLERS, 1, call);
process.stdout.write(JSON.stringify(await rateFor(Number(durationMs), CALLERS, 1, call)));
client.closeChannel();
