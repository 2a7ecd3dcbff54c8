import { expect } from "chai";
import { ALL_VALUES, chartSuite, MINIMAL, render } from "./helm.ts";
import type { Container, PodSpec } from "./kube-types.ts";
import { ofKind, workloadsOf } from "./workloads.ts";

const VOLUMES = ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "projected", "secret"];

/** Breaches of the Pod Security Standard "restricted" (kubernetes.io/docs/concepts/security). */
function breaches(pod: PodSpec, containers: readonly Container[]): string[] {
  const found: string[] = [];
  const refuse = (isWrong: boolean, what: string) => void (isWrong && found.push(what));
  refuse(pod.hostNetwork === true || pod.hostPID === true || pod.hostIPC === true, "host");
  for (const volume of pod.volumes ?? []) {
    const kinds = Object.keys(volume).filter((key) => key !== "name");
    refuse(
      kinds.some((kind) => !VOLUMES.includes(kind)),
      `volume ${volume.name}`,
    );
  }
  for (const { name, securityContext = {} } of containers) {
    const { capabilities, privileged } = securityContext;
    const own = { ...pod.securityContext, ...securityContext };
    refuse(privileged === true, `${name} privileged`);
    refuse(securityContext.allowPrivilegeEscalation !== false, `${name} escalation`);
    refuse(own.runAsNonRoot !== true || own.runAsUser === 0, `${name} root`);
    refuse(
      !["RuntimeDefault", "Localhost"].includes(own.seccompProfile?.type ?? ""),
      `${name} seccomp`,
    );
    refuse(!capabilities?.drop?.includes("ALL"), `${name} capabilities`);
    refuse(capabilities?.add?.some((one) => one !== "NET_BIND_SERVICE") ?? false, `${name} adds`);
  }
  return found;
}

chartSuite("the security of every pod", () => {
  it("the check itself finds breaches", () => {
    expect(breaches({ hostPID: true, containers: [] }, [{ name: "x", image: "x" }])).to.have.length(
      5,
    );
  });

  for (const values of ALL_VALUES) {
    it(`${values}: Pod Security "restricted" finds nothing, hooks and tests included`, () => {
      const workloads = workloadsOf(render(values));
      expect(workloads.length).to.be.greaterThan(8);
      for (const { pod, containers, name } of workloads) {
        expect(breaches(pod, containers), name).to.deep.equal([]);
      }
    });
  }

  it("the root is read-only, and /tmp is a bounded emptyDir", () => {
    for (const { pod, containers, name } of workloadsOf(render("ci/every-option-values.yaml"))) {
      for (const { securityContext, volumeMounts = [] } of containers) {
        expect(securityContext?.readOnlyRootFilesystem, name).to.equal(true);
        const mount = volumeMounts.find(({ mountPath }) => mountPath === "/tmp");
        const volume = pod.volumes?.find((one) => one.name === mount?.name);
        expect(volume?.emptyDir?.sizeLimit, name).to.match(/^\d+Mi$/);
      }
    }
  });

  it("the user is a number above 0, so that non-root can be verified", () => {
    for (const { pod, name } of workloadsOf(render("ci/every-option-values.yaml"))) {
      expect(pod.securityContext?.runAsUser, name).to.be.a("number").and.be.greaterThan(999);
    }
  });

  it("each workload has a ServiceAccount of its own without a token, and there are no roles", () => {
    const objects = render("ci/every-option-values.yaml");
    const workloads = workloadsOf(objects);
    const accounts = workloads.map(({ pod }) => pod.serviceAccountName);
    expect(new Set(accounts).size).to.equal(workloads.length);
    for (const { pod, name } of workloads) {
      expect(pod.automountServiceAccountToken, name).to.equal(false);
    }
    for (const account of ofKind(objects, "ServiceAccount")) {
      expect(account.automountServiceAccountToken).to.equal(false);
    }
    expect(objects.filter(({ kind }) => /Role/.test(kind))).to.deep.equal([]);
  });

  it("Kubernetes puts no variables of other services into the environment", () => {
    for (const { pod, name } of workloadsOf(render("ci/every-option-values.yaml"))) {
      expect(pod.enableServiceLinks, name).to.equal(false);
    }
  });

  it("an external ServiceAccount is used and not created", () => {
    const objects = render(MINIMAL, { set: ["wallet.serviceAccount.name=theirs"] });
    const wallet = workloadsOf(objects).find(({ component }) => component === "wallet");
    expect(wallet?.pod.serviceAccountName).to.equal("theirs");
    const names = ofKind(objects, "ServiceAccount").map(({ metadata }) => metadata.name);
    expect(names).to.not.include("theirs").and.to.not.include("sms-wallet");
  });
});
