/**
 * Builds the documentation in a thread of its own: rendering and compressing take a second of CPU time, which the
 * gateway's event loop must not spend, and the renderers' memory is freed with the thread (ADR 141).
 */
import { parentPort, workerData } from "node:worker_threads";
import { buildSite, type SiteOptions } from "./build-site.ts";

if (parentPort !== null && isSiteOptions(workerData)) {
  parentPort.postMessage(buildSite(workerData));
}

function isSiteOptions(data: unknown): data is SiteOptions {
  return typeof data === "object" && data !== null && "document" in data && "docsUrl" in data;
}
