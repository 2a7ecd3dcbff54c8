import { readFileSync } from "node:fs";
import { join } from "node:path";
import { dashboardFiles } from "./dashboards.ts";
import { CHART } from "./layout.ts";
import { readmeOf } from "./readme.ts";
import { rpcCallersFile } from "./rpc-callers.ts";
import { schemaOf } from "./schema.ts";
import { readValuesTree } from "./values-tree.ts";

/** The chart's generated files: current contents by name. */
export function generatedFiles(): Readonly<Record<string, string>> {
  const tree = readValuesTree(readFileSync(join(CHART, "values.yaml"), "utf8"));
  return {
    "values.schema.json": `${JSON.stringify(schemaOf(tree), null, 2)}\n`,
    "README.md": readmeOf(tree),
    "files/rpc-callers.yaml": rpcCallersFile(),
    ...dashboardFiles(),
  };
}
