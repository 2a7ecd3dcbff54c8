import { expect } from "chai";
import { skipSince } from "../support/skip.ts";
import { ALL_VALUES, chartSuite, FOREIGN, render } from "./helm.ts";
import { type KubeValidator, openKubeValidator } from "./kube-schemas.ts";
import { label } from "./workloads.ts";

chartSuite("the Kubernetes API's own description", () => {
  let validate: KubeValidator;

  before(function () {
    const opened = openKubeValidator();
    if ("missing" in opened) return skipSince(this, opened.missing);
    validate = opened.validate;
  });

  it("refuses a field that does not exist, a wrong type, and a missing one", () => {
    const base = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "x" } };
    const template = { metadata: {}, spec: { containers: [{ name: "x", image: "x" }] } };
    const selector = { matchLabels: {} };
    expect(validate({ ...base, spec: { selector, template } as never })).to.deep.equal([]);
    expect(validate({ ...base, spec: { selector, template, nope: 1 } as never })).to.have.length(1);
    expect(
      validate({ ...base, spec: { selector, template, replicas: "1" } as never }),
    ).to.have.length(1);
    expect(validate({ ...base, spec: { template } as never })).to.have.length(1);
  });

  for (const values of ALL_VALUES) {
    it(`${values}: every object is one that the API takes`, () => {
      for (const object of render(values)) {
        const faults = validate(object);
        if (faults === undefined) expect(object.apiVersion).to.match(FOREIGN);
        else expect(faults, label(object)).to.deep.equal([]);
      }
    });
  }
});
