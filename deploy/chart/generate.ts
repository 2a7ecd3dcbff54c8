/** `node deploy/chart/generate.ts` writes the chart's schema and README from `values.yaml`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { generatedFiles } from "./generated.ts";
import { CHART } from "./layout.ts";

for (const [name, text] of Object.entries(generatedFiles())) {
  writeFileSync(join(CHART, name), text);
}
