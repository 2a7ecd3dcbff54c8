/** Prometheus' own check of rules and metrics. */
export const PROMTOOL = process.env.PROMTOOL ?? "promtool";

/** The reason for skipping. */
export const NO_PROMTOOL = "promtool is neither on PATH nor named by $PROMTOOL";
