/** The generated files of the clients are what the OpenAPI document says. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { clientDocument } from "../../../clients/generate/document.ts";
import { generatedClientFiles, TYPESCRIPT_TYPES } from "../../../clients/generate/files.ts";
import { typescriptTypesHead } from "../../../clients/generate/typescript-types.ts";
import { ROOT } from "../../../deploy/dev/paths.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

describe("the generated files of the clients", () => {
  for (const [path, text] of Object.entries(generatedClientFiles())) {
    it(`${path} is current: make clients`, () => {
      expect(read(path) === text, `${path} differs: run make clients`).to.equal(true);
    });
  }

  it(`${TYPESCRIPT_TYPES} was made from the document's present shape: make clients`, () => {
    expect(read(TYPESCRIPT_TYPES).startsWith(typescriptTypesHead(clientDocument()))).to.equal(true);
  });
});
