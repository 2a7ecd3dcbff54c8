import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { SiteFile } from "../../../services/shared/web/site-file.ts";
import type { SiteOptions } from "./build-site.ts";

/** The files of the documentation, by path. */
export type Site = ReadonlyMap<string, SiteFile>;

/** Heap limit of the build's thread, far above its need. Beyond it the build fails, but the process continues. */
const HEAP_MIB_MAX = 256;

/** Returns a function that builds the site when it is first called, and again after a failure. */
export function createSiteLoader(options: () => SiteOptions): () => Promise<Site> {
  let site: Promise<Site> | undefined;
  return () => {
    site ??= buildInThread(options()).catch((error: unknown) => {
      site = undefined;
      throw error;
    });
    return site;
  };
}

function buildInThread(workerData: SiteOptions): Promise<Site> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(join(import.meta.dirname, "site-worker.ts"), {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
    });
    worker.once("message", (files: readonly SiteFile[]) => {
      resolve(new Map(files.map((file) => [file.path, file])));
    });
    worker.once("error", reject);
    // After the message has resolved the promise, this rejection has no effect.
    worker.once("exit", (code) => reject(new Error(`the build of the pages ended with ${code}`)));
  });
}
