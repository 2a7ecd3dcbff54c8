import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../deploy/dev/paths.ts";
import { repositoryFiles } from "../support/source-files.ts";
import { chartSuite, MINIMAL, notes, refusal, render } from "./helm.ts";
import type { KubeObject, PolicyRule } from "./kube-types.ts";
import {
  COMPONENT,
  GRPC_COMPONENTS,
  ofKind,
  selects,
  servingWorkloads,
  settingsOf,
  workloadsOf,
} from "./workloads.ts";

/** `caller → callee` that only the test pod and operators add to the architecture. */
const OF_THE_TEST = ["tenant", "sender-id", "webhook"].map((callee) => `test → ${callee}`);

chartSuite("network policies", () => {
  it("everything is denied both ways before anything is allowed", () => {
    const deny = policyOf(render(MINIMAL), "sms-default-deny");
    expect(deny?.spec?.policyTypes).to.have.members(["Ingress", "Egress"]);
    expect(deny?.spec).to.not.have.any.keys("ingress", "egress");
    for (const { metadata } of workloadsOf(render(MINIMAL))) {
      expect(selects(deny?.spec?.podSelector?.matchLabels ?? {}, metadata.labels)).to.equal(true);
    }
  });

  it("every pod may ask DNS over UDP and TCP", () => {
    const dns = policyOf(render(MINIMAL), "sms-dns");
    const ports = dns?.spec?.egress?.flatMap(({ ports = [] }) => ports);
    expect(ports).to.deep.equal([
      { port: 53, protocol: "UDP" },
      { port: 53, protocol: "TCP" },
    ]);
  });

  it("every pod listens on IPv4 alone, or on both where that is asked for", () => {
    const set = ["carrier.receipts.enabled=true", "carrier.receipts.url=https://example.com"];
    const password = "smscSimulator.enabled=true,smscSimulator.password=secret";
    for (const host of ["0.0.0.0", "::"]) {
      const plain = [...set, password, "operatorConsole.enabled=true"];
      const options = host === "::" ? [...plain, "listenHost=::"] : plain;
      const objects = render(MINIMAL, { set: options });
      const found = servingWorkloads(objects).flatMap(({ component }) => {
        const settings = Object.entries(settingsOf(objects, component));
        return settings.filter(([name]) => /^(.*_)?HOST$/.test(name));
      });
      // Every one of twelve has gRPC and ops; gateway, carrier, simulator and console have one more.
      expect(found).to.have.length(2 * 12 + 4);
      for (const [name, value] of found) expect(value, name).to.equal(host);
    }
    expect(refusal(MINIMAL, { set: ["listenHost=localhost"] })).to.contain("listenHost");
  });

  it("calls between services are the arrows of the architecture, both ends agreeing", () => {
    const objects = render(MINIMAL, { set: ["operatorConsole.enabled=true"] });
    const documented = [...documentedArrows(), ...OF_THE_TEST];
    expect(arrowsOf(objects, "egress", "to")).to.have.members(documented);
    expect(arrowsOf(objects, "ingress", "from")).to.have.members(documented);
  });

  it("calls between services are the clients that the code makes", () => {
    const made = repositoryFiles().flatMap(({ path, text }) => {
      const caller = /^(?:services\/)?([\w-]+)\/start\.ts$/.exec(path)?.[1];
      if (caller === undefined) return [];
      return [...text.matchAll(/context\.client\((\w+)Service\)/g)].map(
        ([, name = ""]) => `${caller} → ${name.replace(/(?!^)[A-Z]/g, "-$&").toLowerCase()}`,
      );
    });
    expect(made.length).to.be.greaterThan(5);
    expect(documentedArrows()).to.include.members([...new Set(made)]);
  });

  it("webhooks may leave only to public addresses, on the configured ports", () => {
    const webhook = policyOf(render(MINIMAL), "sms-webhook");
    const blocks = (webhook?.spec?.egress ?? []).flatMap(({ to = [], ports }) =>
      to.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [{ ...ipBlock, ports }])),
    );
    expect(blocks.map(({ cidr }) => cidr)).to.have.members(["0.0.0.0/0", "::/0"]);
    const [v4, v6] = ["0.0.0.0/0", "::/0"].map((cidr) => blocks.find((one) => one.cidr === cidr));
    expect(v4?.except).to.include.members([
      ...["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8"],
      ...["169.254.0.0/16", "100.64.0.0/10", "0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4"],
    ]);
    expect(v6?.except).to.include.members([
      "::/64",
      "fc00::/7",
      "fe80::/10",
      "ff00::/8",
      "64:ff9b::/96",
    ]);
    for (const { ports = [] } of blocks) {
      expect(ports.map(({ port }) => port)).to.deep.equal([443, 8443]);
    }
    expect(settingsOf(render(MINIMAL), "webhook")).to.include({
      WEBHOOK_ALLOWED_PORTS: "443,8443",
    });
  });

  it("no pod may leave to any address, but to servers, carriers and webhooks on their ports", () => {
    const open = ofKind(render(MINIMAL), "NetworkPolicy").flatMap(({ metadata, spec }) =>
      (spec?.egress ?? [])
        .filter(({ to }) => isAnyone(to))
        .flatMap(({ ports = [{ port: "any" }] }) =>
          ports.map(({ port }) => `${metadata.name} ${port}`),
        ),
    );
    const [mongodb, nats, redis, dns] = [27017, 4222, 6379, 53];
    const services = Object.fromEntries(GRPC_COMPONENTS.map((name) => [name, [mongodb, nats]]));
    const allowed: Record<string, number[]> = {
      ...{ ...services, dns: [dns], migration: [mongodb, nats, dns], gateway: [nats, redis] },
      // SMPP and SMPP over TLS.
      carrier: [mongodb, nats, redis, 2775, 3550],
      webhook: [mongodb, nats, 443, 8443],
    };
    const wanted = Object.entries(allowed).flatMap(([name, ports]) =>
      ports.map((port) => `sms-${name} ${port}`),
    );
    expect([...new Set(open)].sort()).to.deep.equal(wanted.sort());
  });

  it("receipts come from those who are named, an ingress controller above all, or from anywhere", () => {
    const from = (values: string, set: string[] = []) =>
      policyOf(render(values, { set }), "sms-carrier")?.spec?.ingress?.find(({ ports = [] }) =>
        ports.some(({ port }) => port === "receipts"),
      );
    const controller = { "kubernetes.io/metadata.name": "ingress-nginx" };
    expect(from("ci/airgap-values.yaml")?.from).to.deep.equal([
      { namespaceSelector: { matchLabels: controller } },
    ]);
    const on = ["carrier.receipts.enabled=true", "carrier.receipts.url=https://receipts.example"];
    const carriers = "networkPolicy.carriersTo[0].ipBlock.cidr=10.20.0.0/16";
    const open = from(MINIMAL, [...on, carriers]);
    expect(open).to.deep.equal({ ports: [{ port: "receipts", protocol: "TCP" }] });
  });

  it("the ops port is open to the namespace of the monitoring alone, or to no one", () => {
    const peers = (set: string[]) =>
      ofKind(render(MINIMAL, { set }), "NetworkPolicy").flatMap(({ spec }) =>
        (spec?.ingress ?? []).filter(({ ports = [] }) => ports.some(({ port }) => port === "ops")),
      );
    const monitoring = { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } };
    expect(peers([])).to.have.length(10);
    for (const { from } of peers([]))
      expect(from).to.deep.equal([{ namespaceSelector: monitoring }]);
    expect(peers(["networkPolicy.monitoringFrom=null"])).to.deep.equal([]);
  });

  it("carriers at any address never include link-local ones, where clouds answer with credentials", () => {
    const rule = policyOf(render(MINIMAL), "sms-carrier")?.spec?.egress?.find(({ ports = [] }) =>
      ports.some(({ port }) => port === 2775),
    );
    const [v4] = rule?.to ?? [];
    expect(v4?.ipBlock?.except).to.include("169.254.0.0/16");
  });

  it("mail leaves only on the ports that are named, and only from the tenant service", () => {
    const rules = (set: string[]) =>
      ofKind(render(MINIMAL, { set }), "NetworkPolicy").flatMap(({ metadata, spec }) =>
        (spec?.egress ?? [])
          .filter(({ ports = [] }) => ports.some(({ port }) => port === 587))
          .map(() => metadata.name),
      );
    expect(rules([])).to.deep.equal([]);
    expect(rules(["networkPolicy.mailPorts={587}"])).to.deep.equal(["sms-tenant"]);
    expect(rules(["networkPolicy.signInPorts={587}"])).to.deep.equal(["sms-tenant"]);
  });

  it("the simulator's control port is the operators' alone", () => {
    const control = (set: string[]) =>
      policyOf(render("values-dev.yaml", { set }), "sms-smsc-simulator")?.spec?.ingress?.filter(
        ({ ports = [] }) => ports.some(({ port }) => port === "control"),
      );
    expect(control([])).to.deep.equal([]);
    const peer = { podSelector: { matchLabels: { for: "operators" } } };
    const set = ["networkPolicy.operatorsFrom[0].podSelector.matchLabels.for=operators"];
    expect(control(set)?.map(({ from }) => from)).to.deep.equal([[peer]]);
  });

  it("the test pod reaches the gateway also where the gateway's callers are named", () => {
    const gateway = policyOf(render("ci/production-values.yaml"), "sms-gateway");
    const http = gateway?.spec?.ingress?.find(({ ports }) => ports?.[0]?.port === "http");
    const components = http?.from?.map(({ podSelector }) => podSelector?.matchLabels[COMPONENT]);
    expect(components).to.include("test");
  });
});

chartSuite("services and ports", () => {
  it("each gRPC service has a headless Service of ready pods, whose name its callers use", () => {
    const objects = render(MINIMAL);
    const services = ofKind(objects, "Service");
    // By the addresses of theirs the gateways count each other.
    for (const component of [...GRPC_COMPONENTS, "gateway"]) {
      const name = `sms-${component}-headless`;
      const service = services.find(({ metadata }) => metadata.name === name);
      expect(service?.spec?.clusterIP, name).to.equal("None");
      expect(service?.spec).to.not.have.property("publishNotReadyAddresses");
      const pods = servingWorkloads(objects).filter(({ metadata }) =>
        selects(service?.spec?.selector ?? {}, metadata.labels),
      );
      expect(pods.map((pod) => pod.component)).to.deep.equal([component]);
    }
    expect(settingsOf(objects, "gateway").GATEWAY_PEERS).to.equal(
      "sms-gateway-headless.messaging.svc.cluster.local",
    );
    for (const { containers, component } of workloadsOf(objects)) {
      for (const { name, value } of containers.flatMap(({ env = [] }) => env)) {
        if (!/_GRPC$/.test(name)) continue;
        const callee = name
          .replace(/_GRPC$/, "")
          .replaceAll("_", "-")
          .toLowerCase();
        expect(value, component).to.equal(
          `sms-${callee}-headless.messaging.svc.cluster.local:9090`,
        );
      }
    }
  });

  it("every port has a name and says its protocol", () => {
    const objects = render("ci/airgap-values.yaml");
    for (const { metadata, spec } of ofKind(objects, "Service")) {
      for (const { name, appProtocol, targetPort } of spec?.ports ?? []) {
        expect(name, metadata.name).to.be.a("string");
        expect(appProtocol, metadata.name).to.match(/^(grpc|http|smpp\.org\/smpp)$/);
        expect(targetPort, metadata.name).to.equal(name);
      }
    }
  });

  it("a Service's ports exist on the pods it selects", () => {
    const objects = render("ci/every-option-values.yaml");
    for (const { metadata, spec } of ofKind(objects, "Service")) {
      const [workload] = servingWorkloads(objects).filter((one) =>
        selects(spec?.selector ?? {}, one.metadata.labels),
      );
      const names = workload?.containers[0]?.ports?.map(({ name }) => name);
      expect(names, metadata.name).to.include.members(
        spec?.ports?.map(({ targetPort }) => targetPort) ?? [],
      );
    }
  });

  it("only the gateway's Service has the external traffic policy, where it is set", () => {
    const service = (set: string[]) =>
      ofKind(render(MINIMAL, { set }), "Service").find(
        ({ metadata }) => metadata.name === "sms-gateway",
      )?.spec;
    expect(service([])).to.not.have.property("externalTrafficPolicy");
    const set = [
      "gateway.service.type=LoadBalancer",
      "gateway.service.externalTrafficPolicy=Local",
    ];
    expect(service(set)).to.include({ type: "LoadBalancer", externalTrafficPolicy: "Local" });
  });

  it("a Service's families, load balancer and sources are values", () => {
    const services = ofKind(render("ci/hatches-values.yaml"), "Service");
    const gateway = services.find(({ metadata }) => metadata.name === "sms-gateway");
    expect(gateway?.spec).to.deep.include({
      ipFamilyPolicy: "SingleStack",
      ipFamilies: ["IPv4"],
      loadBalancerClass: "example.com/internal",
      loadBalancerSourceRanges: ["10.0.0.0/8"],
    });
    expect(gateway?.metadata.annotations).to.include({ "example.com/internal": "true" });
    for (const { metadata, spec } of services.filter((one) => one !== gateway)) {
      expect(spec?.ipFamilyPolicy, metadata.name).to.equal("PreferDualStack");
      expect(spec?.ipFamilies, metadata.name).to.deep.equal(["IPv4"]);
    }
  });

  it("connection age and drain times are values that reach the processes", () => {
    const set = [
      "rpc.maxConnectionAgeMs=12345",
      "defaults.closeTimeoutMs=26000",
      "defaults.drainDelayMs=777",
    ];
    for (const { containers, name } of servingWorkloads(render(MINIMAL, { set }))) {
      const env = new Map(containers[0]?.env?.map((one) => [one.name, one.value]));
      expect(env.get("RPC_CONNECTION_AGE_MS"), name).to.equal("12345");
      expect(env.get("CLOSE_TIMEOUT_MS"), name).to.equal("26000");
      expect(env.get("DRAIN_DELAY_MS"), name).to.equal("777");
    }
  });

  it("Ingress and HTTPRoute are off by default, and lead to the gateway's Service when on", () => {
    const kinds = (values: string) => render(values).map(({ kind }) => kind);
    expect(kinds(MINIMAL)).to.not.include.members(["Ingress"]);
    expect(kinds(MINIMAL)).to.not.include.members(["HTTPRoute"]);
    for (const [values, kind] of [
      ["ci/production-values.yaml", "Ingress"],
      ["ci/gateway-api-values.yaml", "HTTPRoute"],
    ] as const) {
      const [object] = ofKind(render(values), kind);
      expect(JSON.stringify(object?.spec?.rules)).to.contain('"name":"sms-gateway"');
    }
    expect(readFileSync(join(ROOT, "helm/sms/README.md"), "utf8")).to.contain("BODY_BYTES_MAX");
  });

  it("problem types point to the first host that is no pattern; without one, the notes say so", () => {
    const ingress = (hosts: string) => `gateway.ingress.hosts={${hosts}}`;
    const route = (hosts: string) => `gateway.httpRoute.hostnames={${hosts}}`;
    const cases: readonly (readonly [string[], string | undefined])[] = [
      [[], undefined],
      [[ingress("*.sms.example.com")], undefined],
      [[ingress("*.example.com,sms.example.com,b.example.com")], "https://sms.example.com/docs"],
      [[ingress("*.example.com"), route("*.b.example,c.example")], "https://c.example/docs"],
      [[ingress("a.example"), route("c.example")], "https://a.example/docs"],
    ];
    for (const [set, url] of cases) {
      const { DOCS_URL } = settingsOf(render(MINIMAL, { set }), "gateway");
      expect(DOCS_URL, String(set)).to.equal(url);
      const hint = "until gateway.settings.DOCS_URL names the public /docs";
      expect(notes(MINIMAL, { set }).includes(hint), String(set)).to.equal(url === undefined);
    }
    const own = "gateway.settings.DOCS_URL=https://docs.example.com";
    expect(notes(MINIMAL, { set: [ingress("*.example.com"), own] })).to.not.contain(
      "http://localhost",
    );
  });

  it("with mutual TLS each component gets a certificate that names what callers connect to", () => {
    const objects = render("ci/external-tls-values.yaml");
    const certificates = ofKind(objects, "Certificate");
    const names = certificates.map(({ spec }) => spec?.commonName);
    const callers = ["gateway", "carrier", "operator-console", "toolbox", "test"];
    expect(names).to.have.members([...GRPC_COMPONENTS, ...callers]);
    for (const component of [...GRPC_COMPONENTS, ...callers]) {
      const own = certificates.find(({ spec }) => spec?.commonName === component);
      expect(own?.spec?.dnsNames).to.include(
        `sms-${component}-headless.messaging.svc.cluster.local`,
      );
      const workload = workloadsOf(objects).find((one) => one.component === component);
      const secrets = workload?.pod.volumes?.map(({ secret }) => secret?.secretName);
      expect(secrets).to.include(own?.spec?.secretName);
    }
  });
});

function policyOf(objects: readonly KubeObject[], name: string): KubeObject | undefined {
  return ofKind(objects, "NetworkPolicy").find(({ metadata }) => metadata.name === name);
}

/** Unspecific peers: none, addresses, or every namespace. */
function isAnyone(peers: PolicyRule["to"]): boolean {
  if (peers === undefined || peers.length === 0) return true;
  return peers.some(
    ({ ipBlock, podSelector, namespaceSelector }) =>
      ipBlock !== undefined ||
      (podSelector === undefined && Object.keys(namespaceSelector ?? {}).length === 0),
  );
}

/** The peers; an absent list is one unnamed peer. */
function peersOf(peers: PolicyRule["to"]): NonNullable<PolicyRule["to"]> {
  return peers === undefined || peers.length === 0 ? [{}] : peers;
}

/** Edges between components on the gRPC port, as one side's policies state them. */
function arrowsOf(
  objects: readonly KubeObject[],
  direction: "ingress" | "egress",
  side: "from" | "to",
): string[] {
  const isGrpc = ({ ports = [] }: PolicyRule) =>
    ports.some(({ port }) => port === "grpc" || port === 9090);
  return ofKind(objects, "NetworkPolicy").flatMap(({ spec }) => {
    const self = spec?.podSelector?.matchLabels[COMPONENT] ?? "";
    const rules: readonly PolicyRule[] = spec?.[direction] ?? [];
    return rules.filter(isGrpc).flatMap((rule) =>
      peersOf(rule[side]).map(({ podSelector }) => {
        const other = podSelector?.matchLabels[COMPONENT] ?? "";
        return side === "to" ? `${self} → ${other}` : `${other} → ${self}`;
      }),
    );
  });
}

/** The calls column of the table in docs/architecture.md. */
function documentedArrows(): string[] {
  const text = readFileSync(join(ROOT, "docs/architecture.md"), "utf8");
  const rows = text.split("\n").filter((line) => /^\| \[/.test(line));
  return rows.flatMap((row) => {
    const cells = row.split("|").map((cell) => cell.trim());
    const caller = /^\[([\w-]+)\]/.exec(cells[1] ?? "")?.[1] ?? "";
    return (cells[4] ?? "")
      .split(/[,;]/)
      .map((name) => name.replace(/\(.*\)/, "").trim())
      .filter((name) => GRPC_COMPONENTS.includes(name))
      .map((callee) => `${caller} → ${callee}`);
  });
}
