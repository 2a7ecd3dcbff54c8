/** Options that several commands have. */
import type { OptionDefinition } from "../../shared/cli/definition.ts";

export const TENANT: OptionDefinition = {
  flags: "--tenant <tenant>",
  about: "The tenant's id or name.",
  isRequired: true,
};

export const TENANT_IF_ANY: OptionDefinition = {
  flags: "--tenant <tenant>",
  about: "The tenant's id or name; by default all tenants.",
};

export const MODE: OptionDefinition = {
  flags: "--mode <live|test>",
  about: "The mode; live by default.",
};

export const PAGE: readonly OptionDefinition[] = [
  { flags: "--limit <count>", about: "The most items; it may exceed a page." },
  { flags: "--cursor <cursor>", about: "Continue a list where it ended." },
];

/** The time range of a list. */
export const RANGE: readonly OptionDefinition[] = [
  { flags: "--since <time>", about: "At or after: an age (90s, 30m, 1h, 7d) or a date-time." },
  { flags: "--until <time>", about: "Before: an age or a date-time." },
];

/** The options of `RANGE`, which also have their older names. */
export const RANGE_WITH_OLDER_NAMES: readonly OptionDefinition[] = [
  ...RANGE,
  { flags: "--from <time>", about: "The older name of --since." },
  { flags: "--to <time>", about: "The older name of --until." },
];

/** The option `--status S,…` with its possible values. */
export const statusOption = (...values: readonly string[]): OptionDefinition => ({
  flags: "--status <status,…>",
  about: `Only these: ${values.join(", ")}.`,
});
