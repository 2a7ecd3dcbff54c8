/** The generated files of the clients are what the OpenAPI document says. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { clientDocument } from "../../../clients/generate/document.ts";
import { generatedClientFiles, TYPESCRIPT_TYPES } from "../../../clients/generate/files.ts";
import { typescriptTypesHead } from "../../../clients/generate/typescript-types.ts";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { skipSince } from "../../support/skip.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

describe("the generated files of the clients", () => {
  for (const [path, text] of Object.entries(generatedClientFiles())) {
    it(`${path} is current: make clients`, () => {
      expect(read(path) === text, `${path} differs: run make clients`).to.equal(true);
    });
  }

  it("Python evaluates every type", function () {
    const source = read("clients/python/src/sms_messaging/types.py");
    const options = { input: source, encoding: "utf8" } as const;
    const { error, status, stderr } = spawnSync("python3", ["-"], options);
    if (error !== undefined) skipSince(this, "there is no python3");
    expect(status, stderr).to.equal(0);
  });

  it(`${TYPESCRIPT_TYPES} was made from the document's present shape: make clients`, () => {
    expect(read(TYPESCRIPT_TYPES).startsWith(typescriptTypesHead(clientDocument()))).to.equal(true);
  });
});
