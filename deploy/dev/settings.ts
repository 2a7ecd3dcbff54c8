import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./paths.ts";

/** The trace exporter reads these itself, so no source of ours names them all. */
const TRACE_SETTINGS = /^OTEL_\w+$/;

/** The settings in `env` that some service reads: only those are kept on disk for `make restart`. */
export function settingsIn(env: NodeJS.ProcessEnv, names = settingNames()): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    const isSetting = names.has(name) || TRACE_SETTINGS.test(name);
    if (value !== undefined && value !== "" && isSetting) kept[name] = value;
  }
  return kept;
}

/** Every possible setting name in the services' sources (`LIKE_THIS`). */
export function settingNames(root = ROOT): Set<string> {
  const names = new Set<string>();
  for (const folder of ["services", "gateway"]) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts")) continue;
      const source = readFileSync(join(root, folder, file), "utf8");
      for (const [name] of source.matchAll(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g)) names.add(name);
    }
  }
  return names;
}
