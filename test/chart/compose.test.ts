import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { ROOT } from "../../deploy/dev/paths.ts";
import {
  CALLER_METHODS,
  methodsOf,
  OPERATOR,
  SMOKE_TEST,
} from "../../services/shared/caller-methods.ts";
import { tokenSettings } from "../../services/shared/rpc/listed-callers.ts";
import { SERVICE_ADDRESSES } from "../../services/shared/service-addresses.ts";
import { repositoryFiles } from "../support/source-files.ts";

type Service = {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly mem_limit?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
};

const text = readFileSync(join(ROOT, "deploy/compose.yaml"), "utf8");
const { services } = parse(text, { merge: true }) as { services: Record<string, Service> };
const own = Object.entries(services).filter(([, { image }]) => /^sms-/.test(image));
const names = [
  ...["gateway", "tenant", "sender-id", "wallet", "routing", "messaging", "carrier", "webhook"],
  "campaign",
  "consent",
  "operator-console",
  "smsc-simulator",
];

describe("compose.yaml", () => {
  it("runs every service, the migration, and their servers", () => {
    const commands = own.flatMap(([, { command = [] }]) => command.slice(1));
    expect(commands).to.have.members([...names, "migrate"]);
    expect(Object.keys(services)).to.include.members(["mongo", "nats", "redis"]);
  });

  it("asks everything that runs on whether it is ready, and waits for it in order", () => {
    for (const [name, { healthcheck, depends_on }] of Object.entries(services)) {
      if (name === "migrate" || name === "smsctl") continue;
      expect(healthcheck?.test, name).to.be.an("array");
      for (const part of healthcheck?.test ?? []) expect(part, name).to.be.a("string");
      if (!names.includes(name) || name === "smsc-simulator") continue;
      const conditions = Object.values(depends_on ?? {}).map(({ condition }) => condition);
      expect(conditions, name).to.not.be.empty;
      expect(conditions, name).to.not.include("service_started");
    }
  });

  it("sets only variables that the code reads", () => {
    const code = repositoryFiles()
      .filter(({ path }) => /^(services|gateway)\/.*\.ts$/.test(path))
      .map(({ text: source }) => source)
      .join("\n");
    const set = own.flatMap(([, { environment = {} }]) => Object.keys(environment));
    expect(set.length).to.be.greaterThan(50);
    // Tokens are named after callers.
    const named = set.map((name) => name.replace(/^RPC_TOKEN_OF_.*$/, "RPC_TOKEN_OF_"));
    for (const name of new Set(named)) expect(code, name).to.match(new RegExp(`\\b${name}`));
  });

  it("gives each service the addresses of those it calls", () => {
    for (const [name, { environment = {} }] of own.filter(([one]) => names.includes(one))) {
      const starts = name === "gateway" ? "gateway/start.ts" : `services/${name}/start.ts`;
      const source = readFileSync(join(ROOT, starts), "utf8");
      for (const [, client = ""] of source.matchAll(/context\.client\((\w+)Service\)/g)) {
        const setting = `${client.replace(/(?!^)[A-Z]/g, "_$&").toUpperCase()}_GRPC`;
        expect(environment, name).to.have.property(setting);
      }
    }
  });

  it("gives each caller a token of its own, and each service the methods of its callers", () => {
    const interfaces = [
      ...Object.entries(SERVICE_ADDRESSES),
      ["sms.v1.Carrier", { name: "carrier" }] as const,
    ];
    for (const [typeName, { name }] of interfaces) {
      if (services[name] === undefined) continue;
      const { RPC_CALLERS = "{}", ...environment } = services[name]?.environment ?? {};
      const wanted = Object.keys(CALLER_METHODS)
        .filter((caller) => caller !== SMOKE_TEST && (caller === OPERATOR || caller in services))
        .map((caller) => [caller, methodsOf([caller], typeName)] as const)
        .filter(([, methods]) => methods.length > 0);
      expect(JSON.parse(RPC_CALLERS), name).to.deep.equal(Object.fromEntries(wanted));
      const tokens = Object.keys(environment).filter((one) => /^RPC_TOKEN_OF_/.test(one));
      const settings = wanted.map(([caller]) => tokenSettings(caller).token);
      expect(tokens, name).to.have.members(settings);
    }
    for (const caller of ["gateway", "messaging", "wallet", "sender-id", "carrier"]) {
      const value = services[caller]?.environment?.RPC_TOKEN;
      expect(value, caller).to.contain(`{${tokenSettings(caller).token}:?`);
    }
    expect(services.smsctl?.environment?.RPC_TOKEN).to.contain("{RPC_TOKEN_OF_OPERATOR:?");
  });

  it("limits the memory of everything", () => {
    for (const [name, { mem_limit }] of Object.entries(services)) {
      expect(mem_limit, name).to.match(/^[0-9]+[mg]$/);
    }
  });

  it("holds no credential, and none of its processes can write or gain rights", () => {
    for (const [name, service] of own) {
      for (const [variable, value] of Object.entries(service.environment ?? {})) {
        if (!/TOKEN|PASSWORD|_KEYS?$/.test(variable)) continue;
        expect(value, `${name} ${variable}`).to.match(/^\$\{\w+:\?/);
      }
      expect(service.read_only, name).to.equal(true);
      expect(service.cap_drop, name).to.deep.equal(["ALL"]);
    }
    const ports = Object.values(services).flatMap(({ ports: published = [] }) => published);
    for (const port of ports) expect(port).to.match(/^127\.0\.0\.1:/);
  });

  it("keeps the carrier's journal on a volume that the image gives to the right user", () => {
    const [volume = ""] = services.carrier?.volumes ?? [];
    expect(volume).to.equal(`journal:${services.carrier?.environment?.CARRIER_JOURNAL_DIR}`);
    const recipe = readFileSync(join(ROOT, "deploy/Dockerfile"), "utf8");
    expect(recipe).to.contain("chown 65532:65532 /state/journal");
    expect(recipe).to.contain("COPY --from=packages /state/ /var/lib/sms/");
  });
});
