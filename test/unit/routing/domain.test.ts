import { expect } from "chai";
import {
  type ConnectorInput,
  changeConnector,
  checkRemoval,
  createConnector,
  hideSecrets,
} from "../../../services/routing/domain/connector.ts";
import { comparePrices, parsePriceList } from "../../../services/routing/domain/price-list.ts";
import {
  changeRoute,
  createRoute,
  type RouteInput,
} from "../../../services/routing/domain/route.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { AMOUNT_MAX } from "../../../services/shared/core/money.ts";

const NOTHING: ConnectorInput = {
  id: "",
  type: "",
  state: "",
  ratePerSecond: 0,
  smpp: undefined,
  http: undefined,
};
const SMPP = { host: "smsc.example", port: 2775, systemId: "me", password: "secret", window: 50 };
const INPUT: ConnectorInput = { ...NOTHING, id: "smsc", type: "smpp", smpp: SMPP };

function fieldsOf(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error.fields.map(({ field }) => field);
    throw error;
  }
  return [];
}

describe("a connector", () => {
  it("starts active, with defaults for absent settings", () => {
    const connector = createConnector(INPUT, 5);
    expect(connector).to.include({ id: "smsc", state: "active", version: 1, createdAtMs: 5 });
    expect(connector.smpp).to.include({ window: 50, binds: 1, bindMode: "transceiver" });
    expect(connector.smpp?.sourceTon).to.equal(undefined);
  });

  it("is refused with every error at once", () => {
    const smpp = {
      ...SMPP,
      host: "",
      port: 0,
      systemId: "sixteen-letters-",
      password: "123456789",
    };
    expect(
      fieldsOf(() => createConnector({ ...INPUT, smpp: { ...smpp, window: -1 } }, 0)),
    ).to.deep.equal(["smpp.host", "smpp.system_id", "smpp.password", "smpp.window"]);
    for (const bindMode of ["receiver", "sender"]) {
      expect(
        fieldsOf(() => createConnector({ ...INPUT, smpp: { ...SMPP, bindMode } }, 0)),
      ).to.deep.equal(["smpp.bind_mode"]);
    }
    expect(fieldsOf(() => createConnector({ ...INPUT, id: "Bad.Name" }, 0))).to.deep.equal([
      "connector.id",
    ]);
    expect(fieldsOf(() => createConnector({ ...INPUT, type: "test" }, 0))).to.deep.equal([
      "connector.type",
    ]);
  });

  it("keeps its password when a change leaves it empty, and increments its version", () => {
    const before = createConnector(INPUT, 0);
    const input = { ...NOTHING, smpp: { window: 20, password: "" } };
    const after = changeConnector(before, input, ["smpp"], 9);
    expect(after.smpp).to.include({ window: 20, password: "secret", host: "smsc.example" });
    expect(after).to.include({ version: 2, updatedAtMs: 9 });
  });

  it("replaces by false in complete settings, and replaces a named field by any value", () => {
    const before = createConnector({ ...INPUT, smpp: { ...SMPP, tls: true, sourceTon: 5 } }, 0);
    const complete = { ...NOTHING, smpp: { ...SMPP, tls: false, password: "", bindMode: "" } };
    const after = changeConnector(before, complete, ["smpp"], 1);
    expect(after.smpp).to.include({ tls: false, password: "secret", bindMode: "transceiver" });
    const partial = { ...NOTHING, smpp: { tls: false } };
    expect(changeConnector(before, partial, ["smpp"], 1).smpp?.tls).to.equal(true);
    expect(changeConnector(before, partial, ["smpp.tls"], 1).smpp?.tls).to.equal(false);
  });

  it("changes one field by its path, refuses an invalid zero and keeps a secret", () => {
    const before = createConnector({ ...INPUT, smpp: { ...SMPP, tls: true } }, 0);
    const smpp = { host: "", window: 0, tls: false, password: "", systemType: "", errorCodes: {} };
    const change = (...fields: string[]) =>
      changeConnector(before, { ...NOTHING, smpp }, fields, 1).smpp;
    expect(fieldsOf(() => change("smpp.window"))).to.deep.equal(["smpp.window"]);
    expect(fieldsOf(() => change("smpp.host"))).to.deep.equal(["smpp.host"]);
    const after = change("smpp.tls", "smpp.password", "smpp.system_type");
    expect(after).to.deep.equal({ ...before.smpp, tls: false });
    const nothing = () => changeConnector(before, NOTHING, ["smpp.error_codes", "smpp.tls"], 1);
    expect(fieldsOf(nothing)).to.deep.equal(["connector.smpp.error_codes", "connector.smpp.tls"]);
  });

  for (const [part, status, scope, complaint] of [
    ["smpp", "0x58", "bind", []],
    ["smpp", "0x00000400", "number", []],
    ["smpp", "0x0", "bind", ["smpp.throttle_scopes"]],
    ["smpp", "88", "bind", ["smpp.throttle_scopes"]],
    ["smpp", "0x58", "link", ["smpp.throttle_scopes.0x58"]],
    ["http", "429", "number", []],
    ["http", "503", "bind", []],
    ["http", "500", "bind", ["http.throttle_scopes"]],
    ["http", "0x1ad", "bind", ["http.throttle_scopes"]],
  ] as const) {
    it(`${complaint.length === 0 ? "takes" : "refuses"} ${status}=${scope} as a throttling status of ${part}`, () => {
      const throttleScopes = { [status]: scope };
      const http = { url: "https://carrier.example/send", receiptSecret: "sixteen-characters" };
      const input =
        part === "smpp"
          ? { ...INPUT, smpp: { ...SMPP, throttleScopes } }
          : { ...NOTHING, id: "web", type: "http", http: { ...http, throttleScopes } };
      const found = complaint.length === 0 ? [] : fieldsOf(() => createConnector(input, 0));
      if (complaint.length === 0) createConnector(input, 0);
      expect(found).to.deep.equal(complaint);
    });
  }

  it("changes HTTP settings by their paths and keeps hidden headers", () => {
    const http = {
      url: "https://carrier.example/send",
      headers: { authorization: "Bearer x" },
      receiptSecret: "sixteen-characters",
    };
    const before = createConnector({ ...NOTHING, id: "web", type: "http", http }, 0);
    const change = (stated: object, ...fields: string[]) =>
      changeConnector(before, { ...NOTHING, http: stated }, fields, 1).http;
    const headers = { authorization: "(hidden)", "x-new": "1" };
    const after = change({ headers, timeoutMs: 500 }, "http.headers", "http.timeout_ms");
    expect(after?.headers).to.deep.equal({ authorization: "Bearer x", "x-new": "1" });
    expect(after).to.include({ timeoutMs: 500, url: http.url, concurrency: 10 });
    expect(change({ receiptSecret: "" }, "http.receipt_secret")).to.deep.equal(before.http);
    expect(fieldsOf(() => change({}, "http.headers"))).to.deep.equal(["connector.http.headers"]);
    expect(fieldsOf(() => change({ concurrency: 0 }, "http.concurrency"))).to.deep.equal([
      "http.concurrency",
    ]);
    expect(fieldsOf(() => change({}, "smpp.window"))).to.deep.equal(["fields"]);
  });

  it("refuses a change of a field it does not have", () => {
    const before = createConnector(INPUT, 0);
    for (const field of ["id", "smpp.nothing", "http", "__proto__"]) {
      expect(fieldsOf(() => changeConnector(before, NOTHING, [field], 1))).to.deep.equal([
        "fields",
      ]);
    }
  });

  it("refuses HTTP settings that would break every message", () => {
    const http = {
      url: "https://carrier.example/send",
      headers: { authorization: "Bearer x" },
      receiptSecret: "sixteen-characters",
    };
    for (const wrong of [
      { bodyTemplate: '{"text":"Msg: {{body}}"}' },
      { bodyTemplate: "{{body}" },
      { headers: { "Content-Type": "text/plain" } },
      { headers: { HOST: "elsewhere.example" } },
    ]) {
      const input = { ...NOTHING, id: "web", type: "http", http: { ...http, ...wrong } } as const;
      expect(() => createConnector(input, 0), JSON.stringify(wrong)).to.throw(AppError);
    }
    const form = { contentType: "application/x-www-form-urlencoded", bodyTemplate: "t={{body}}" };
    createConnector({ ...NOTHING, id: "web", type: "http", http: { ...http, ...form } }, 0);
  });

  it("shows no secret, and keeps header values that an update leaves hidden", () => {
    const http = {
      url: "https://carrier.example/send",
      headers: { authorization: "Bearer x" },
      receiptSecret: "sixteen-characters",
    };
    const connector = createConnector({ ...NOTHING, id: "web", type: "http", http }, 0);
    const shown = hideSecrets(connector);
    expect(JSON.stringify(shown)).not.to.match(/Bearer|sixteen/);
    const input = { ...NOTHING, http: { ...shown.http, concurrency: 3 } };
    const after = changeConnector(connector, input, ["http"], 1);
    expect(after.http?.headers).to.deep.equal({ authorization: "Bearer x" });
    expect(after.http).to.include({ receiptSecret: "sixteen-characters", concurrency: 3 });
  });

  it("can be removed when no route names it; the test connector never", () => {
    expect(() => checkRemoval("smsc", [])).not.to.throw();
    expect(() => checkRemoval("smsc", ["main"])).to.throw(AppError, "main");
    expect(() => checkRemoval("test", [])).to.throw(AppError, "built in");
  });
});

describe("a route", () => {
  const P44 = { prefix: "44", price: 1n };
  const input: RouteInput = {
    name: "main",
    connectorId: "smsc",
    enabled: true,
    priority: 1,
    weight: 0,
    senderIds: [],
    plans: [],
    tenantIds: [],
    trafficClasses: [],
    prices: [{ prefix: "234", price: 40_000n }],
    enabledFromMinute: 0,
    enabledUntilMinute: 0,
  };

  it("keeps fields that a change does not name; new prices are a new version", () => {
    const named = () => createRoute("rte_1", { ...input, name: "rte_2" }, 0);
    expect(fieldsOf(named)).to.deep.equal(["route.name"]);
    const route = createRoute("rte_1", input, 0);
    expect(route).to.include({ weight: 1, pricesVersion: 1 });
    const other = { ...input, priority: 7, enabled: false, prices: [] };
    const after = changeRoute(route, other, ["enabled"], 1);
    expect(after).to.include({ enabled: false, priority: 1, pricesVersion: 1 });
    expect(changeRoute(route, other, ["prices"], 1).pricesVersion).to.equal(2);
  });

  it("adds or replaces single prices as a new version", () => {
    const route = createRoute("rte_1", { ...input, prices: [...input.prices, P44] }, 0);
    const prices = [
      { prefix: "1", price: 3n },
      { prefix: "234", price: 2n },
    ];
    const after = changeRoute(route, { ...input, prices }, ["prices.set"], 1);
    expect(after.prices).to.deep.equal([prices[1], P44, prices[0]]);
    expect(after).to.include({ pricesVersion: 2, updatedAtMs: 1 });
    const both = changeRoute(
      route,
      { ...input, prices, priority: 9 },
      ["prices.set", "priority"],
      1,
    );
    expect(both).to.include({ priority: 9, pricesVersion: 2 });
  });

  it("refuses to set no price, a price twice, an invalid one, or together with a list", () => {
    const route = createRoute("rte_1", input, 0);
    const set = (prices: RouteInput["prices"], ...more: string[]) =>
      fieldsOf(() => changeRoute(route, { ...input, prices }, ["prices.set", ...more], 1));
    expect(set([])).to.deep.equal(["route.prices"]);
    expect(set([P44, P44])).to.deep.equal(["route.prices[1].prefix"]);
    expect(set([{ prefix: "0", price: 1n }])).to.deep.equal(["route.prices[0].prefix"]);
    expect(set([P44], "prices")).to.deep.equal(["fields"]);
    const change = () => changeRoute(route, { ...input, prices: [] }, ["prices.set"], 1);
    expect(change).to.throw(AppError).with.nested.property("fields[0].code", "required");
    for (const field of ["constructor", "__proto__"]) {
      expect(fieldsOf(() => changeRoute(route, input, [field], 1))).to.deep.equal(["fields"]);
    }
  });

  it("is refused with every invalid price named", () => {
    const prices = [
      { prefix: "+234", price: 1n },
      { prefix: "234", price: -1n },
      { prefix: "234", price: 1n },
    ];
    expect(fieldsOf(() => createRoute("rte_1", { ...input, prices }, 0))).to.deep.equal([
      "route.prices[0].prefix",
      "route.prices[1].price",
      "route.prices[2].prefix",
    ]);
  });

  for (const price of [-1n, AMOUNT_MAX + 1n]) {
    it(`a price of ${price} is refused, and the error names both bounds`, () => {
      const prices = [{ prefix: "234", price }];
      expect(() => createRoute("rte_1", { ...input, prices }, 0))
        .to.throw(AppError)
        .with.nested.property("fields[0].message", "must be from 0.0000 to 1000000000000.0000");
    });
  }
});

describe("a price list", () => {
  it("may have quotes, CR LF, a byte order mark and empty lines", () => {
    const csv = '\uFEFFPrefix,Price\r\n234,4\r\n\r\n"+44", "0.1234"\r\n';
    expect(parsePriceList(csv)).to.deep.equal([
      { prefix: "234", price: 40_000n },
      { prefix: "44", price: 1234n },
    ]);
  });

  it("is refused as a whole, with every invalid line named", () => {
    const csv = "prefix,price\n234,1\n0,1\n44,1.23456\n234,2\n1,2,3\n7,-1\n";
    expect(fieldsOf(() => parsePriceList(csv))).to.deep.equal([
      "csv[3]",
      "csv[4]",
      "csv[5]",
      "csv[6]",
      "csv[7]",
    ]);
    expect(fieldsOf(() => parsePriceList("234,1\n"))).to.include("csv[1]");
    expect(fieldsOf(() => parsePriceList("prefix,price\n"))).to.deep.equal(["csv"]);
  });

  it("is compared with the previous one by prefix", () => {
    const before = parsePriceList("prefix,price\n234,1\n44,2\n1,3\n");
    const after = parsePriceList("prefix,price\n234,1\n44,5\n7,1\n");
    expect(
      comparePrices(before, after).map(({ prefix, kind }) => `${kind} ${prefix}`),
    ).to.deep.equal(["removed 1", "changed 44", "added 7"]);
  });
});
