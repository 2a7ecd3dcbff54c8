import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { MANIFESTS } from "../../deploy/chart/layout.ts";
import { renderManifests } from "../../deploy/chart/manifests.ts";
import { chartSuite, currentHelm, parseObjects } from "./helm.ts";

chartSuite("the rendered manifests", () => {
  it("match the chart's render", () => {
    const kept = readFileSync(join(MANIFESTS, "sms.yaml"), "utf8");
    const isFresh = kept === renderManifests(currentHelm());
    expect(isFresh, "run node deploy/chart/manifests.ts").to.equal(true);
  });

  it("need nothing that a plain cluster does not have", () => {
    const objects = parseObjects(readFileSync(join(MANIFESTS, "sms.yaml"), "utf8"));
    expect(objects.length).to.be.greaterThan(50);
    const groups = new Set(objects.map(({ apiVersion }) => apiVersion));
    expect([...groups]).to.have.members([
      ...["v1", "apps/v1", "batch/v1", "policy/v1", "networking.k8s.io/v1", "autoscaling/v2"],
    ]);
    expect(objects.some(({ kind }) => kind === "Secret")).to.equal(false);
    const text = JSON.stringify(objects);
    expect(text).to.not.contain("helm.sh/hook");
  });
});
