/**
 * `make clients` writes the generated files of the clients. Run it after a change of the OpenAPI document: a test
 * compares. The types of TypeScript come from openapi-typescript. It needs another version of the compiler than this
 * repository, so clients/typescript has a lock file of its own.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../deploy/dev/paths.ts";
import { generatedClientFiles, TYPESCRIPT_TYPES } from "./files.ts";
import { typescriptTypes } from "./typescript-types.ts";

const files = { ...generatedClientFiles(), [TYPESCRIPT_TYPES]: typescriptTypes() };
for (const [path, text] of Object.entries(files)) {
  writeFileSync(join(ROOT, path), text);
  process.stdout.write(`${path}\n`);
}
