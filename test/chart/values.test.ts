import { expect } from "chai";
import { chartSuite, MINIMAL, refusal, render } from "./helm.ts";
import { settingsOf } from "./workloads.ts";

const UNKNOWN = [
  "nope=1",
  "gateway.nope=1",
  "gateway.service.nope=1",
  "carrier.persistence.nope=1",
  "defaults.probes.startup.nope=1",
  "nats.stream.nope=1",
  "rpc.tls.certManager.issuerRef.nope=1",
  "gateway.settings.NOPE=1",
  "gateway.resources.nope=1",
  "gateway.resources.limits.nope=1",
  "gateway.securityContext.nope=true",
  "gateway.podSecurityContext.nope=1",
  "gateway.dnsConfig.nope=1",
  "networkPolicy.gatewayFrom[0].nope=1",
  "migration.replicas=2",
  "test.logLevel=debug",
];

const WRONG = [
  "nameOverride=Upper",
  "fullnameOverride=a/b",
  "fullnameOverride=1sms",
  "clusterDomain=cluster_local",
  "gateway.replicas=-1",
  "gateway.port=x",
  "gateway.port=70000",
  "defaults.heapPercent=90",
  "image.tag=latest",
  "image.digest=sha256:short",
  "nats.stream.replicas=2",
  "gateway.service.type=Nope",
  "gateway.service.externalTrafficPolicy=Nope",
  "carrier.keda.enabled=maybe",
  "carrier.persistence.size=much",
  "wallet.tmpSize=x",
  "wallet.maxSurge=0",
  "wallet.pdb.maxUnavailable=-1",
  "wallet.replicas=1.5",
  "wallet.resources.limits.memory=much",
  "smscSimulator.password=nine-octets",
  "gateway.settings.CONNECTIONS_MAX=-1",
  "gateway.settings.CONNECTIONS_MAX=many",
  "gateway.settings.ACCESS_LOG=maybe",
  "gateway.settings.MESSAGE_SEND_SUNSET=later",
  "gateway.settings.TRUSTED_PROXIES=10/8",
  "gateway.settings.DOCS_URL=docs.example.com",
  "webhook.settings.WEBHOOK_RETRY_DELAYS_MS=soon",
  "messaging.settings.CLAIM_LEASE_MS=1",
  "networkPolicy.webhooks.ports[0]=443,networkPolicy.webhooks.ports[1]=443",
  "monitoring.prometheusRule.thresholds.SmsSettlementLag=-1",
  "gateway.service.ipFamilies[0]=IPv5",
];

chartSuite("values and their schema", () => {
  for (const path of UNKNOWN) {
    it(`an unknown key is refused: ${path}`, () => {
      expect(refusal(MINIMAL, { set: [path] })).to.match(/additional properties? .* not allowed/i);
    });
  }

  for (const path of WRONG) {
    it(`a wrong type or range is refused: ${path}`, () => {
      expect(refusal(MINIMAL, { set: [path] })).to.match(/don't meet the specifications/);
    });
  }

  for (const [path, instead] of [
    ["replicaCount=3", "<component>.replicas"],
    ["replicaCount=0", "<component>.replicas"],
    ["ingress.enabled=true", "gateway.ingress"],
    ["imagePullSecrets[0].name=x", "global.imagePullSecrets"],
    ["imagePullSecrets=x", "global.imagePullSecrets"],
    ["ingress=true", "gateway.ingress"],
    ["replicaCount=three", "<component>.replicas"],
  ] as const) {
    it(`a key from another chart names the right key and its documentation: ${path}`, () => {
      const words = refusal(MINIMAL, { set: [path] });
      expect(words).to.contain(instead).and.to.contain("UPGRADING.md");
    });
  }

  for (const [path, parent] of [
    ["gateway=null", "gateway"],
    ["gateway.service=null", "service"],
    ["gateway.port=null", "port"],
    ["mongodb.tls=null", "tls"],
    ["defaults.probes=null", "probes"],
    ["networkPolicy=null", "networkPolicy"],
    ["campaign=null", "campaign"],
    ["consent=null", "consent"],
    ["operatorConsole=null", "operatorConsole"],
    ["operatorConsole.port=null", "port"],
    ["toolbox=null", "toolbox"],
  ] as const) {
    it(`a key that is taken away is named: ${path}`, () => {
      expect(refusal(MINIMAL, { set: [path] })).to.match(
        new RegExp(`${parent}'? ?.*missing|missing.*${parent}`),
      );
    });
  }

  it("settings that the schema takes are those that the service takes", () => {
    const set = [
      "gateway.settings.CONNECTIONS_MAX=100",
      "gateway.settings.TRUSTED_PROXIES=10.0.0.0/8\\,fd00::/8",
      "gateway.settings.CORS_ORIGINS=https://app.example.com",
      "gateway.settings.ACCESS_LOG=false",
      "webhook.settings.WEBHOOK_RETRY_DELAYS_MS=60000",
      "webhook.settings.WEBHOOK_DNS_SERVERS=10.0.0.53:5353",
    ];
    const objects = render(MINIMAL, { set });
    expect(settingsOf(objects, "gateway")).to.include({
      CONNECTIONS_MAX: "100",
      TRUSTED_PROXIES: "10.0.0.0/8,fd00::/8",
      ACCESS_LOG: "false",
    });
    expect(settingsOf(objects, "webhook")).to.include({ WEBHOOK_RETRY_DELAYS_MS: "60000" });
    expect(render(MINIMAL, { set: ["webhook.settings.WEBHOOK_RETRY_DELAYS_MS=1000\\, 2000"] })).to
      .not.be.empty;
  });

  it("a release whose name gives no names of Services is refused, with the setting that does", () => {
    const release = "1sms";
    expect(refusal(MINIMAL, { release })).to.contain("fullnameOverride is needed");
    expect(render(MINIMAL, { release, set: ["fullnameOverride=sms"] })).to.not.be.empty;
  });

  it("missing and contradicting settings stop the render with one line that names them", () => {
    const cases: readonly (readonly [string | undefined, string[], string])[] = [
      [undefined, [], "mongodb.uri or mongodb.existingSecret is required; nats.url or"],
      [undefined, [], "rpc.token or rpc.existingSecret is required."],
      [MINIMAL, ["mongodb.existingSecret="], "mongodb.uri or mongodb.existingSecret is required."],
      [MINIMAL, ["nats.url=x"], "nats.url and nats.existingSecret exclude each other."],
      [MINIMAL, ["rpc.tls.enabled=true"], "rpc.tls.enabled needs"],
      [MINIMAL, ["gateway.ingress.enabled=true"], "gateway.ingress.hosts"],
      [MINIMAL, ["wallet.keda.enabled=true"], "nats.monitoringEndpoint"],
      [MINIMAL, ["smscSimulator.enabled=true"], "smscSimulator.password"],
      [MINIMAL, ["carrier.receipts.enabled=true"], "carrier.receipts.url"],
      [MINIMAL, ["gateway.service.externalTrafficPolicy=Local"], "NodePort or LoadBalancer."],
      [MINIMAL, ["wallet.minReadySeconds=600"], "wallet: progressDeadlineSeconds must exceed"],
      [
        MINIMAL,
        ["gateway.port=9100"],
        "gateway: port 9100 is given twice, to ports.ops and to port.",
      ],
      [
        MINIMAL,
        ["wallet.ports.grpc=9100"],
        "wallet: port 9100 is given twice, to ports.ops and to ports.grpc.",
      ],
      [
        MINIMAL,
        ["operatorConsole.enabled=true", "operatorConsole.port=9100"],
        "operatorConsole: port 9100 is given twice, to ports.ops and to port.",
      ],
      [MINIMAL, ["senderId.minReadySeconds=600"], "senderId: progressDeadlineSeconds must exceed"],
      [
        MINIMAL,
        ["operatorConsole.enabled=true", "operatorConsole.resources.limits.memory=8Mi"],
        "operatorConsole: resources.limits.memory: 8Mi is less than 16Mi",
      ],
      [
        "ci/hatches-values.yaml",
        ["monitoring.prometheusRule.disabled[0]=SmsNope"],
        "there is no alert SmsNope.",
      ],
      [
        MINIMAL,
        ["gateway.autoscaling.enabled=true", "gateway.keda.enabled=true"],
        "gateway: autoscaling.enabled and keda.enabled exclude each other.",
      ],
    ];
    for (const [values, set, words] of cases) {
      const line = refusal(values, { set }).split("\n")[0];
      expect(line, set.join(",")).to.contain(words);
    }
  });
});
