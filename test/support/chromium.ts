import { existsSync } from "node:fs";

const PATHS = [process.env.CHROMIUM ?? "", "/usr/bin/chromium", "/usr/bin/chromium-browser"];

/** The browser of this machine; undefined where there is none. */
export const CHROMIUM = PATHS.find((path) => path !== "" && existsSync(path));

/** Why a test of pages is skipped without it. */
export const NO_CHROMIUM = "there is no chromium (apt-get install chromium)";
