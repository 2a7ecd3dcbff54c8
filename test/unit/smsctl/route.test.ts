import type { ServiceImpl } from "@connectrpc/connect";
import { expect } from "chai";
import type { RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import { errorOf, getTenant, run } from "../../support/smsctl-fakes.ts";

describe("smsctl route update and remove", () => {
  async function update(...options: string[]): Promise<unknown> {
    let asked: unknown;
    const updateRoute: ServiceImpl<typeof RoutingService>["updateRoute"] = (request) => {
      const route = request.route as unknown as Record<string, unknown>;
      const named = request.fields.map((field) =>
        field.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      );
      asked = [request.idOrName, Object.fromEntries(named.map((name) => [name, route[name]]))];
      return { route: {} };
    };
    // Only these methods are there: a command that read the route first would fail.
    const fakes = { tenants: { getTenant }, routing: { updateRoute } };
    await run(["route", "update", "main", ...options], fakes);
    return asked;
  }

  const cases: readonly (readonly [readonly string[], Readonly<Record<string, unknown>>])[] = [
    [["--connector", "b"], { connectorId: "b" }],
    [["--name", "N", "--priority", "0", "--weight", "0"], { name: "N", priority: 0, weight: 0 }],
    [["--plans", "a,b", "--sender-ids", "*"], { plans: ["a", "b"], senderIds: [] }],
    [["--tenants", "Ada"], { tenantIds: ["ten_1"] }],
    [["--hours", "07:00-24:00"], { enabledFromMinute: 420, enabledUntilMinute: 1440 }],
    [["--hours", "always"], { enabledFromMinute: 0, enabledUntilMinute: 0 }],
  ];
  for (const [options, expected] of cases) {
    it(`${options.join(" ")} sends only the given fields`, async () => {
      expect(await update(...options)).to.deep.equal(["main", expected]);
    });
  }

  for (const option of ["--connector=", "--plans=", "--tenants=,", "--hours=7-22", "--hours="]) {
    it(`refuses ${option}`, async () => {
      const error = await errorOf(update(option));
      expect(error).to.include({ code: "validation_error" });
    });
  }

  it("route remove shows the removed route", async () => {
    const removeRoute: ServiceImpl<typeof RoutingService>["removeRoute"] = ({ idOrName }) => ({
      route: { id: "rte_1", name: idOrName },
    });
    const words = ["route", "remove", "main"];
    const { result } = await run(words, { routing: { removeRoute } });
    expect(result).to.deep.equal({ id: "rte_1", name: "main", removed: true });
  });
});
