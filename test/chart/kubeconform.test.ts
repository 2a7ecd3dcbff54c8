import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { skipSince } from "../support/skip.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { ALL_VALUES, chartSuite, renderOnce } from "./helm.ts";
import { type Definitions, strictDefinitions } from "./kube-schemas.ts";

const PROGRAM = process.env.KUBECONFORM ?? "kubeconform";
/** Kinds of operators, which the API's own description does not have. */
const FOREIGN_KINDS = "ServiceMonitor,PrometheusRule,ScaledObject,Certificate,HTTPRoute";

chartSuite("kubeconform", () => {
  let folder: string;

  before(function () {
    const missing = reasonAgainst();
    if (missing !== undefined) skipSince(this, missing);
    const opened = strictDefinitions();
    if ("missing" in opened) return skipSince(this, opened.missing);
    folder = temporaryFolder("kubeconform");
    writeSchemas(folder, opened.definitions);
  });

  it("finds a field that does not exist", () => {
    const object = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "x" }, nope: 1 };
    expect(conform(folder, JSON.stringify(object)).status).to.equal(1);
  });

  for (const values of ALL_VALUES) {
    it(`${values}: strictly matches the API's description`, () => {
      const { status, stdout, stderr } = conform(folder, renderOnce(values));
      expect(status, `${stdout}${stderr}`).to.equal(0);
      expect(stdout).to.match(/Valid: [1-9]\d*, Invalid: 0, Errors: 0, Skipped: \d+$/m);
    });
  }
});

function reasonAgainst(): string | undefined {
  if (spawnSync(PROGRAM, ["-v"]).error === undefined) return undefined;
  return "kubeconform is neither on PATH nor named by $KUBECONFORM";
}

function conform(folder: string, input: string) {
  const place = join(folder, "{{.ResourceKind}}{{.KindSuffix}}.json");
  const args = ["-strict", "-summary", "-schema-location", place, "-skip", FOREIGN_KINDS, "-"];
  return spawnSync(PROGRAM, args, { input, encoding: "utf8" });
}

/** One file for each kind, named as kubeconform asks for it, beside one with all definitions. */
function writeSchemas(folder: string, definitions: Definitions): void {
  writeFileSync(join(folder, "all.json"), JSON.stringify({ definitions }));
  for (const [name, definition] of Object.entries(definitions)) {
    for (const { group, version, kind } of definition["x-kubernetes-group-version-kind"] ?? []) {
      const suffix = group === "" ? version : `${group.split(".")[0]}-${version}`;
      const file = join(folder, `${kind.toLowerCase()}-${suffix}.json`);
      writeFileSync(file, JSON.stringify({ $ref: `all.json#/definitions/${name}` }));
    }
  }
}
