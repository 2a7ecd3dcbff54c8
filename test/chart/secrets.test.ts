import { expect } from "chai";
import { CALLER_METHODS } from "../../services/shared/caller-methods.ts";
import { ALL_VALUES, chartSuite, MINIMAL, render } from "./helm.ts";
import { isHook, label, ofKind, servingWorkloads, workloadsOf } from "./workloads.ts";

/** Variables with names like secrets that may be in plain text. */
const NOT_SECRET = /_(FILE|MS|MAX)$/;
const INLINE = "ci/inline-credentials-values.yaml";
const CALLERS = Object.keys(CALLER_METHODS);

chartSuite("secrets and configuration", () => {
  it("with Secrets that exist the chart renders none", () => {
    for (const values of ALL_VALUES.filter((name) => name !== INLINE)) {
      expect(ofKind(render(values), "Secret").map(label), values).to.deep.equal([]);
    }
  });

  it("every variable from a Secret names the Secret and the key that hold it", () => {
    for (const values of ALL_VALUES) {
      const objects = render(values);
      const secrets = ofKind(objects, "Secret");
      for (const { containers, name } of workloadsOf(objects)) {
        for (const { valueFrom } of containers.flatMap(({ env = [] }) => env)) {
          const ref = valueFrom?.secretKeyRef;
          if (ref === undefined) continue;
          expect(ref.name, name).to.be.a("string").and.not.equal("");
          expect(ref.key, name).to.be.a("string").and.not.equal("");
          const own = secrets.find(({ metadata }) => metadata.name === ref.name);
          if (values === INLINE && !ref.optional)
            expect(own?.stringData, name).to.have.property(ref.key);
        }
      }
    }
  });

  it("each credential's Secret and key can be chosen", () => {
    const groups = ["mongodb", "nats", "redis", "encryption", "cursor", "rpc"];
    const chosen = groups.flatMap((group) => [
      `${group}.existingSecret=${group}-secret`,
      `${group}.existingSecretKey=${group}-key`,
    ]);
    const set = [...chosen, "operatorConsole.enabled=true"];
    const refs = workloadsOf(render(MINIMAL, { set })).flatMap(({ containers }) =>
      containers.flatMap(({ env = [] }) =>
        env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []),
      ),
    );
    const used = new Set(refs.map(({ name, key }) => `${name}/${key}`));
    const single = groups.filter((group) => group !== "rpc");
    const tokens = CALLERS.flatMap((caller) => [`rpc-key-${caller}`, `rpc-key-${caller}-other`]);
    expect([...used]).to.have.members([
      ...single.map((group) => `${group}-secret/${group}-key`),
      ...tokens.map((key) => `rpc-secret/${key}`),
    ]);
  });

  it("no credential is written into an environment, an argument or a ConfigMap", () => {
    const objects = render(INLINE);
    const literals = workloadsOf(objects).flatMap(({ containers }) =>
      containers.flatMap(({ env = [], command = [] }) => [
        ...env.map(({ name, value }) => [name, value ?? ""] as const),
        ...command.map((text) => ["argument", text] as const),
      ]),
    );
    const configured = ofKind(objects, "ConfigMap").flatMap(({ data = {} }) =>
      Object.entries(data),
    );
    const all = [...literals, ...configured];
    expect(all.length).to.be.greaterThan(100);
    for (const [name, value] of all) {
      expect(value, name).to.not.match(/:\/\/[^/\s]*@|only-for-rendering-in-ci|mongodb:\/\//);
      if (value === "" || NOT_SECRET.test(name)) continue;
      expect(name).to.not.match(/PASSWORD|TOKEN|_KEYS?$|SECRET|CREDENTIAL/);
    }
  });

  it("a changed setting restarts the pods that read it, and no others", () => {
    const checksums = (set: string[], kind: "config" | "secret") =>
      new Map(
        servingWorkloads(render(INLINE, { set })).map(({ component, metadata }) => [
          component,
          metadata.annotations?.[`checksum/${kind}`],
        ]),
      );
    const before = checksums([], "config");
    const after = checksums(["wallet.settings.WALLET_FLUSHES_MAX=9"], "config");
    for (const [component, checksum] of before) {
      expect(checksum).to.match(/^[0-9a-f]{64}$/);
      expect(after.get(component) === checksum, component).to.equal(component !== "wallet");
    }
    const secrets = checksums(["rpc.token=another-token-of-ci-only"], "secret");
    for (const [component, checksum] of checksums([], "secret")) {
      expect(secrets.get(component), component).to.not.equal(checksum);
    }
    const simulator = ["smscSimulator.enabled=true", "smscSimulator.password=secret"];
    const all = checksums(simulator, "secret");
    for (const [change, readers] of [
      ["cursor.key=another-key-of-ci-only", ["gateway"]],
      ["encryption.keys=k2:another-key-of-ci-only", ["tenant", "routing", "webhook"]],
      ["redis.url=redis://another", ["gateway", "carrier"]],
      ["smscSimulator.password=another", ["smsc-simulator"]],
    ] as const) {
      const now = checksums([...simulator, change], "secret");
      const restarted = [...all].filter(([name, checksum]) => now.get(name) !== checksum);
      expect(
        restarted.map(([name]) => name),
        change,
      ).to.have.members(readers);
    }
  });

  it("authorities and client certificates are mounted into every pod that connects, and no other", () => {
    const addresses = {
      mongodb: "MONGODB_URI",
      nats: "NATS_URL",
      redis: "REDIS_URL",
      otlp: "OTEL_EXPORTER_OTLP_ENDPOINT",
    };
    const workloads = workloadsOf(render("ci/external-tls-values.yaml"));
    for (const [concern, address] of Object.entries(addresses)) {
      let connecting = 0;
      for (const { component, containers, pod } of workloads) {
        const [container] = containers;
        const connects = container?.env?.some(({ name }) => name === address) ?? false;
        const volume = pod.volumes?.find(({ name }) => name === `${concern}-tls`);
        const mount = container?.volumeMounts?.find(({ name }) => name === `${concern}-tls`);
        const what = `${component} ${concern}`;
        expect(volume?.secret?.secretName, what).to.equal(connects ? `${concern}-tls` : undefined);
        expect(mount !== undefined, what).to.equal(connects);
        if (!connects) continue;
        connecting += 1;
        const files = container?.env?.filter(({ value }) =>
          value?.startsWith(`${mount?.mountPath}/`),
        );
        expect(files, what).to.have.length(3);
      }
      expect(connecting, concern).to.be.at.least(2);
    }
  });

  it("every object that a pod reads exists in the render, or is named as external", () => {
    for (const values of ALL_VALUES) {
      const objects = render(values);
      const names = (kind: string) => ofKind(objects, kind).map(({ metadata }) => metadata.name);
      for (const { containers, name, pod, object } of workloadsOf(objects)) {
        const maps = containers.flatMap(({ envFrom = [] }) =>
          envFrom.flatMap(({ configMapRef }) => configMapRef?.name ?? []),
        );
        expect(names("ConfigMap"), `${values} ${name}`).to.include.members(maps);
        expect(names("ServiceAccount"), `${values} ${name}`).to.include(pod.serviceAccountName);
        if (isHook(object)) continue;
        const lasting = objects.filter((one) => !isHook(one));
        expect(
          ofKind(lasting, "ConfigMap").map(({ metadata }) => metadata.name),
          "a pod must not read what a hook's delete policy takes away",
        ).to.include.members(maps);
      }
    }
  });
});
