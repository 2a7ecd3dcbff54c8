/** The table of methods in the README of each client has every method. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { createSmsClient } from "../../../clients/typescript/src/client.ts";
import { ROOT } from "../../../deploy/dev/paths.ts";

const textOf = (path: string) => readFileSync(join(ROOT, "clients", path), "utf8");

/** The methods by resource, in the order of their names. */
type Methods = Readonly<Record<string, readonly string[]>>;

describe("the READMEs of the clients", () => {
  it("TypeScript: every method of every resource, and no other", () => {
    const sms = createSmsClient({ apiKey: "sk_test_x", baseUrl: "https://api.example.test" });
    const resources = Object.entries(sms).filter(([, value]) => typeof value === "object");
    expect(resources.length).to.be.greaterThan(10);
    const methods = resources.map(([name, value]) => [name, Object.keys(value).sort()]);
    expect(documented("typescript/README.md")).to.deep.equal(Object.fromEntries(methods));
  });

  it("Python: every method of every resource, and no other", () => {
    const source = ["resources.py", "campaigns.py"]
      .map((name) => textOf(`python/src/sms_messaging/${name}`))
      .join("\n");
    const classes = new Map(
      source.split(/^class /m).map((text) => {
        const names = [...text.matchAll(/^ {4}def ([a-z]\w*)\(/gm)].map(([, name = ""]) => name);
        return [text.slice(0, text.indexOf("(")), names.sort()];
      }),
    );
    const client = textOf("python/src/sms_messaging/client.py");
    const resources = [...client.matchAll(/self\.(\w+) = (\w+)\(self\._transport\)/g)];
    expect(resources.length).to.be.greaterThan(10);
    const methods = resources.map(([, name = "", type = ""]) => [name, classes.get(type)]);
    expect(documented("python/README.md")).to.deep.equal(Object.fromEntries(methods));
  });
});

/** The rows of the table below "Methods". */
function documented(path: string): Methods {
  const [, section = ""] = textOf(path).split("## Methods\n");
  const rows = section.matchAll(/^\| `(\w+)` \| (.*) \|$/gm);
  return Object.fromEntries(
    [...rows].map(([, name, cell = ""]) => {
      const [list = ""] = cell.split(":");
      return [name, [...list.matchAll(/`(\w+)`/g)].map(([, method = ""]) => method).sort()];
    }),
  );
}
