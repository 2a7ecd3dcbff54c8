/** The set-up that every test file of messaging on real servers shares. */
import { AMOUNT_MAX } from "../../services/shared/core/money.ts";
import {
  type MessagingHarness,
  makeRoute,
  makeTenant,
  openMessagingHarness,
  sendWhenReady,
  singleSend,
  type TestTenant,
} from "./messaging-harness.ts";
import { startServers, type TestServers } from "./servers.ts";

/** A number that only routes of this prefix carry. */
const NUMBERS = { "234": "08031234567", "44": "+447911123456", "49": "+4915112345678" } as const;

type RouteOptions = {
  readonly price?: bigint;
  readonly priority?: number;
  readonly prefix?: keyof typeof NUMBERS;
};

type SuiteOptions = NonNullable<Parameters<typeof openMessagingHarness>[1]> & {
  /** The routes by connector; by default `alpha` carries Nigeria for 4 NGN. */
  readonly routes?: Readonly<Record<string, RouteOptions>>;
};

/**
 * Opens messaging with routes and one tenant with money before the tests of a suite, and closes it after them. When
 * the tests begin, every replica routes sends, and no message waits. Both results are empty until then.
 */
export function openMessagingSuite(options: SuiteOptions = {}): {
  readonly harness: MessagingHarness;
  readonly tenant: TestTenant;
} {
  const harness = {} as MessagingHarness;
  const tenant = {} as TestTenant;
  const routes = options.routes ?? { alpha: {} };
  let servers: TestServers | undefined;

  before(async () => {
    servers = await startServers();
    Object.assign(harness, await openMessagingHarness(servers, options));
    Object.assign(tenant, await makeTenant(harness));
    for (const [connectorId, route] of Object.entries(routes)) {
      await makeRoute(harness, connectorId, route);
    }
    await warmUp(harness, routes);
  });
  after(async () => {
    await harness.close?.();
    await servers?.stop();
  });
  return { harness, tenant };
}

/** Waits until every replica has loaded the routes, with messages of another tenant that are then cancelled. */
async function warmUp(
  harness: MessagingHarness,
  routes: Readonly<Record<string, RouteOptions>>,
): Promise<void> {
  // Enough for one message at any price.
  const { id: tenantId } = await makeTenant(harness, { funds: AMOUNT_MAX });
  for (const messaging of harness.replicas) {
    for (const [connectorId, { prefix = "234" }] of Object.entries(routes)) {
      const request = singleSend({ id: tenantId }, { recipients: [{ to: NUMBERS[prefix] }] });
      const { message } = await sendWhenReady({ ...harness, messaging }, request);
      await messaging.cancelMessage({ tenantId, messageId: message?.id ?? "" });
      await messaging.claimMessages({ connectorId, carrierId: "warm-up", max: 1 });
    }
  }
}
