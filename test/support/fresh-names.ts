import { randomBytes } from "node:crypto";

/** A name that no other test uses, for a database or a database prefix: `t_wallet_1f0c9a2b`. */
export function freshDatabase(about: string): string {
  return `t_${about.replace(/\W/g, "_").slice(0, 20)}_${suffix()}`;
}

/** A JetStream stream name that no other test uses: `T_OUTBOX_1F0C9A2B`. */
export function freshStream(about: string): string {
  return `T_${about.replace(/\W/g, "_").slice(0, 20)}_${suffix()}`.toUpperCase();
}

/** The first token of a subject that no other test uses: `t-outbox-1f0c9a2b`. */
export function freshSubject(about: string): string {
  return `t-${about.replace(/\W/g, "-").slice(0, 20)}-${suffix()}`;
}

function suffix(): string {
  return randomBytes(4).toString("hex");
}
