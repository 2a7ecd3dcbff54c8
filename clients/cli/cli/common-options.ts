/** Options that several commands have. */
import type { OptionDefinition } from "../../../services/shared/cli/definition.ts";

export const PAGE: readonly OptionDefinition[] = [
  { flags: "--limit <count>", about: "The most items; 50 by default. It may exceed a page." },
  { flags: "--cursor <cursor>", about: "Continue a list where it ended." },
];

/** The time range of a list. */
export const RANGE: readonly OptionDefinition[] = [
  { flags: "--since <time>", about: "At or after: an age (90s, 30m, 1h, 7d) or a date-time." },
  { flags: "--until <time>", about: "Before: an age or a date-time." },
];

export const KEY: OptionDefinition = {
  flags: "--idempotency-key <key>",
  about: "A repeat under this key has no second effect for 24 hours.",
};

/** `--status S,…` with the values that there are. */
export const statusOption = (...values: readonly string[]): OptionDefinition => ({
  flags: "--status <status,…>",
  about: `Only these: ${values.join(", ")}.`,
});
