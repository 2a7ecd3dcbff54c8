import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ServiceImpl } from "@connectrpc/connect";
import { expect } from "chai";
import type { RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import { errorOf, run } from "../../support/smsctl-fakes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("smsctl connector", () => {
  type Asked = { fields: string[]; connector: Record<string, unknown> };

  async function update(...options: string[]): Promise<Asked> {
    let asked: Asked | undefined;
    const updateConnector: ServiceImpl<typeof RoutingService>["updateConnector"] = (request) => {
      asked = request as unknown as Asked;
      return { connector: { id: request.id } };
    };
    const words = ["connector", "update", "smsc", ...options];
    // Only this one method is there: a command that read the connector first would fail.
    await run(words, { routing: { updateConnector } });
    return asked as Asked;
  }

  it("connector update sends only the given fields, including zero and false", async () => {
    const { fields, connector } = await update(
      "--source-ton",
      "0",
      "--tls=false",
      "--charset",
      "gsm7",
    );
    expect(fields).to.have.members(["smpp.source_ton", "smpp.tls", "smpp.default_charset"]);
    expect(connector.smpp).to.include({
      sourceTon: 0,
      tls: false,
      defaultCharset: "gsm7",
      host: "",
    });
  });

  it("update names settings of either kind, so that the service refuses those of the other", async () => {
    const { fields } = await update("--rate", "0", "--binds", "2", "--id-pointer", "/x");
    expect(fields).to.have.members(["rate_per_second", "smpp.binds", "http.id_pointer"]);
  });

  it("add refuses settings of the other kind", async () => {
    const words = ["connector", "add", "web", "--type", "http", "--window", "5"];
    const error = await errorOf(run(words, {}));
    expect(error.message).to.equal("A connector of --type http has no smpp.window.");
  });

  for (const option of ["--id-pointer", "--receipt-status-pointer"]) {
    it(`add refuses an empty ${option}, which a new connector would have by default`, async () => {
      const words = ["connector", "add", "web", "--type", "http", option, ""];
      const error = await errorOf(run(words, {}));
      expect(error.message).to.match(/^An empty pointer is set by connector update/);
      expect((await update(option, "")).fields).to.have.length(1);
    });
  }

  it("update gives headers from a file, and words of the carrier with ours", async () => {
    const { fields, connector } = await update(
      ...["--headers-file", fileOf("Authorization: Basic a:b=\r\n\nX-Tag:one\n")],
      ...[
        "--receipt-statuses",
        "DELIVRD=delivered, gone=undelivered",
        "--error-codes",
        "8=absent_subscriber",
      ],
    );
    expect(fields).to.have.members(["http.headers", "http.receipt_statuses", "smpp.error_codes"]);
    expect(connector.http).to.deep.include({
      headers: { Authorization: "Basic a:b=", "X-Tag": "one" },
      receiptStatuses: { DELIVRD: "delivered", gone: "undelivered" },
    });
    expect(connector.smpp).to.deep.include({ errorCodes: { "8": "absent_subscriber" } });
  });

  it("an empty file of headers takes all of them away", async () => {
    const { fields, connector } = await update("--headers-file", fileOf("\n"));
    expect(fields).to.deep.equal(["http.headers"]);
    expect(connector.http).to.deep.include({ headers: {} });
  });

  for (const [option, value, complaint] of [
    ["--headers-file", "Bearer secret", "--headers-file must be given as NAME:VALUE."],
    ["--headers-file", ": secret", "--headers-file must be given as NAME:VALUE."],
    ["--headers-file", "A: 1\nA: 2", "--headers-file has A twice."],
    ["--receipt-statuses", "delivered", "--receipt-statuses must be given as NAME=VALUE."],
    ["--receipt-statuses", "", "--receipt-statuses must not be empty."],
    ["--error-codes", "8=unknown,8=handset_error", "--error-codes has 8 twice."],
  ] as const) {
    it(`refuses ${option} with ${JSON.stringify(value)}`, async () => {
      const given = option === "--headers-file" ? fileOf(value) : value;
      const words = ["connector", "update", "smsc", option, given];
      const error = await errorOf(run(words, {}));
      expect(error.message).to.equal(complaint);
    });
  }
});

describe("smsctl connector list", () => {
  it("says since when a carrier has been silent", async () => {
    const report = (ageMs: number, bind: string) => ({
      connectorId: "smsc",
      bind,
      link: "bound",
      reportedAtMs: BigInt(Date.now() - ageMs),
    });
    const listConnectors = () => ({
      connectors: [{ id: "smsc" }],
      health: [report(500, "carrier-0/1"), report(90_000, "carrier-1/1")],
    });
    const { results } = await run(
      ["connector", "list"],
      {
        routing: { listConnectors },
      },
      false,
    );
    const links = (results[0] as { link: string }[]).map(({ link }) => link);
    expect(links).to.deep.equal(["bound", "bound, silent for 90 s"]);
  });
});

describe("smsctl connector health", () => {
  const listConnectors = () => ({
    connectors: [{ id: "smsc" }, { id: "web" }],
    health: [],
    deliveries: [
      {
        ...{ connectorId: "smsc", country: "", state: "low", rate: 0.512, baselineRate: 0.9 },
        ...{ submitted: 1000n, delivered: 512n, undelivered: 100n },
        ...{ withoutReceiptHour: 388n, withoutReceiptDay: 20n },
      },
      {
        ...{ connectorId: "web", country: "GH", state: "too_few", submitted: 0n, delivered: 0n },
        ...{ undelivered: 0n, withoutReceiptHour: 0n, withoutReceiptDay: 0n },
      },
    ],
  });
  const show = (...words: string[]) =>
    run(["connector", "health", ...words], { routing: { listConnectors } }, false);

  it("shows the delivery rate of each connector and country with its baseline", async () => {
    const { results } = await show();
    expect(results[0]).to.deep.equal([
      {
        ...{ connector: "smsc", country: "all", state: "low", delivered: "51.2 %" },
        ...{ baseline: "90.0 %", submitted: 1000, undelivered: 100 },
        ...{ "no receipt, hour": 388, "no receipt, day": 20 },
      },
      {
        ...{ connector: "web", country: "GH", state: "too_few", delivered: "-", baseline: "-" },
        ...{ submitted: 0, undelivered: 0, "no receipt, hour": 0, "no receipt, day": 0 },
      },
    ]);
  });

  it("shows one connector, and refuses one that does not exist", async () => {
    const { results } = await show("--connector", "web");
    expect((results[0] as { connector: string }[]).map(({ connector }) => connector)).to.deep.equal(
      ["web"],
    );
    expect((await errorOf(show("--connector", "nothing"))).code).to.equal("not_found");
  });
});

function fileOf(text: string): string {
  const path = join(temporaryFolder("smsctl"), "headers");
  writeFileSync(path, text);
  return path;
}
