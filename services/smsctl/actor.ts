import { hostname, userInfo } from "node:os";

/** Who runs this command and from where, for the audit trail. */
export function localActor(): { name: string; address: string } {
  return { name: `smsctl:${userInfo().username}`, address: hostname() };
}
