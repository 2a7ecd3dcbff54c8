import { hostname, userInfo } from "node:os";
import type { Options } from "../../shared/cli/options.ts";

/**
 * The user and host of this command, for the audit trail. `--actor` names the person where all share
 * the one user of a container.
 */
export function localActor(options: Options): { name: string; address: string } {
  const given = options.optional("actor") === undefined ? userName() : options.required("actor");
  return { name: `smsctl:${given}`, address: hostname() };
}

/** Falls back to the user's number: containers often have no passwd entry for it. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}
