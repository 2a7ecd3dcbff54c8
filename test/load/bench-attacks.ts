/**
 * `make bench-attacks [RATES=10,30,60] [SECONDS=5] [ONLY=name]`: attacks with bodies from one key, and what another
 * tenant bears meanwhile. Each process of the stack serves one service, as in the chart.
 */
import { createClient } from "@connectrpc/connect";
import { SERVICE_PROCESSES } from "../../deploy/dev/process-table.ts";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";
import { ATTACKS, runAttack } from "../support/large-body-attacks.ts";
import { startTestStack } from "../support/stack.ts";

const RATES = (process.env.RATES ?? "10,30,60").split(",").map(Number);
const SECONDS = Number(process.env.SECONDS ?? 5);
const ONLY = process.env.ONLY ?? "";

const stack = await startTestStack({
  settings: { LOG_LEVEL: "warn" },
  processes: SERVICE_PROCESSES,
});
const transport = createGrpcJsTransport({
  target: stack.grpc.tenant ?? "",
  token: stack.grpc_token,
  waitForReady: true,
});
try {
  const tenants = createClient(TenantService, transport);
  const addKey = async (rateLimit: number, burst: number) => {
    const { tenant } = await tenants.createTenant({ name: `Limit ${rateLimit}`, rateLimit, burst });
    const key = await tenants.createApiKey({ tenantId: tenant?.id ?? "", mode: Mode.LIVE });
    return key.secret;
  };
  const callers = {
    "default limits": await addKey(50, 100),
    "high limits": await addKey(5000, 10_000),
    "no key": "",
    "unknown key": `sk_live_${"x".repeat(43)}`,
  };
  for (const attack of ATTACKS) {
    for (const [caller, apiKey] of Object.entries(callers)) {
      if (!`${attack.name}, ${caller}`.includes(ONLY)) continue;
      for (const perSecond of RATES) {
        const result = await runAttack({
          attack,
          apiKey,
          perSecond,
          seconds: SECONDS,
          gateway: stack.gateway,
          livez: new URL("/livez", stack.ops.gateway).href,
          victimKey: stack.api_key,
          pid: stack.pid("gateway"),
        });
        const { balanceP99Ms, balanceMaxMs, livezMaxMs, residentMaxMib, statuses } = result;
        console.log(
          `${attack.name}, ${caller}, ${perSecond}/s:`.padEnd(72),
          `balance p99 ${balanceP99Ms.toFixed(0)} max ${balanceMaxMs.toFixed(0)} ms,`,
          `livez max ${livezMaxMs.toFixed(0)} ms, ${residentMaxMib.toFixed(0)} MiB`,
          JSON.stringify(statuses),
        );
      }
    }
  }
} finally {
  transport.close();
  await stack.stop();
}
