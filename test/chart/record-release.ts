/**
 * `node test/chart/record-release.ts` notes what the chart's version, now released, has fixed: the
 * tests hold the next version against it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHART } from "../../deploy/chart/layout.ts";
import { valuePaths } from "../../deploy/chart/values-tree.ts";
import { MINIMAL, render } from "./helm.ts";
import { immutableFields } from "./immutable-fields.ts";

const chart = readFileSync(join(CHART, "Chart.yaml"), "utf8");
const version = /^version: (.*)$/m.exec(chart)?.[1];
const values = valuePaths(readFileSync(join(CHART, "values.yaml"), "utf8"));
const record = { version, values, fields: immutableFields(render(MINIMAL)) };
writeFileSync(
  join(import.meta.dirname, "./released-fields.json"),
  `${JSON.stringify(record, null, 2)}\n`,
);
