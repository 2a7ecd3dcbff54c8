import { join } from "node:path";
import { ROOT } from "../dev/paths.ts";

/** The chart's folder. */
export const CHART = join(ROOT, "helm/sms");

/** The folder of the rendered manifests. */
export const MANIFESTS = join(ROOT, "deploy/manifests");
