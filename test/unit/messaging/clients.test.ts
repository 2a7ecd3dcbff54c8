import { create } from "@bufbuild/protobuf";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { expect } from "chai";
import {
  type GetRouteTableResponse,
  GetRouteTableResponseSchema,
  RoutingService,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import {
  openServiceClients,
  type RpcClients,
} from "../../../services/messaging/adapters/clients.ts";
import { systemClock } from "../../../services/shared/core/clock.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { eventually } from "../../support/poll.ts";

describe("the route table that messaging keeps", () => {
  it("follows the health of connectors, though the table's version stays", async () => {
    let unhealthy: string[] = [];
    let asked = 0;
    const routing = createClient(
      RoutingService,
      createRouterTransport((router) =>
        router.service(RoutingService, {
          getRouteTable({ knownVersion }): GetRouteTableResponse {
            asked += 1;
            const isKnown = knownVersion === 1n;
            return create(GetRouteTableResponseSchema, {
              version: 1n,
              unchanged: isKnown,
              routes: isKnown ? [] : [routeOver("a"), routeOver("b")],
              connectors: isKnown ? [] : [{ id: "a" }, { id: "b" }],
              unhealthyConnectorIds: unhealthy,
            });
          },
        }),
      ),
    );
    let ring = () => {};
    const nats = {
      subscribe(subject: string, { callback }: { callback: () => void }) {
        if (subject === "invalidate.routing") ring = callback;
        return { unsubscribe: () => undefined };
      },
    };
    const services = openServiceClients({
      clients: { routing } as RpcClients,
      nats: nats as never,
      clock: systemClock,
      log: createLogger("test", "silent"),
    });
    const failing = () =>
      services
        .routeTable()
        .routes.filter(({ isUnhealthy }) => isUnhealthy)
        .map(({ rule }) => rule.connectorId);
    try {
      await eventually(() => asked > 0 && failing().length === 0);
      const healthy = services.routeTable();
      ring();
      await eventually(() => asked > 1);
      expect(services.routeTable(), "nothing is new").to.equal(healthy);
      unhealthy = ["a"];
      ring();
      await eventually(() => failing().length > 0);
      expect(failing()).to.deep.equal(["a"]);
      expect(services.routeTable().routes).to.have.length(2);
      unhealthy = [];
      ring();
      await eventually(() => failing().length === 0);
    } finally {
      await services.close();
    }
  });
});

function routeOver(connectorId: string) {
  return { id: `rte_${connectorId}`, name: connectorId, connectorId, enabled: true, weight: 1 };
}
