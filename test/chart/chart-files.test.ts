import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { generatedFiles } from "../../deploy/chart/generated.ts";
import { CHART } from "../../deploy/chart/layout.ts";
import { readValuesTree, type ValueKey } from "../../deploy/chart/values-tree.ts";
import { isGreater } from "../../deploy/release.ts";
import { templatePaths, templateTexts } from "./template-paths.ts";

const text = (name: string) => readFileSync(join(CHART, name), "utf8");
const tree = readValuesTree(text("values.yaml"));
const components = tree.filter(({ component }) => component !== undefined);

describe("the chart's files", () => {
  it("Chart.yaml asks for a Kubernetes version with -0, so that vendors' versions fit", () => {
    expect(parse(text("Chart.yaml"))).to.have.property("kubeVersion", ">=1.29.0-0");
  });

  it("no dependency is bundled", () => {
    expect(parse(text("Chart.yaml"))).to.not.have.property("dependencies");
  });

  it("schema and README match values.yaml", () => {
    for (const [name, fresh] of Object.entries(generatedFiles())) {
      expect(text(name) === fresh, `${name}: run node deploy/chart/generate.ts`).to.equal(true);
    }
  });

  it("every value is used by a template", () => {
    const used = templatePaths().flatMap(concrete);
    const isUsed = (path: string) => used.some((one) => path === one || path.startsWith(`${one}.`));
    const dead = leavesOf(tree).filter((key) => !key.isDeprecated && !isUsed(key.path));
    // A parent chart reads that one.
    expect(dead.map(({ path }) => path)).to.deep.equal(["enabled"]);
  });

  it("every path of a template is a value", () => {
    const known = new Set(pathsOf(tree));
    const free = allOf(tree).filter(({ keywords }) => keywords !== undefined);
    const isKnown = (path: string) =>
      known.has(path) || free.some((key) => path.startsWith(`${key.path}.`));
    const undeclared = templatePaths().filter((path) => !concrete(path).some(isKnown));
    expect(undeclared).to.deep.equal([]);
  });

  it("every top-level key without a section has a description", () => {
    const silent = tree.filter(
      ({ description, children }) => children.length === 0 && description === "",
    );
    expect(silent.map(({ path }) => path)).to.deep.equal([]);
  });

  it("no template asks for the time or for chance", () => {
    const names = templateTexts().filter(([, body]) =>
      /\{\{[^}]*\b(now|rand[A-Z]\w+|gen[A-Z]\w+|uuidv4|htpasswd|bcrypt|derivePassword)\b/.test(
        body,
      ),
    );
    expect(names.map(([name]) => name)).to.deep.equal([]);
  });

  it("the changelog begins with the chart's version or the next, and UPGRADING has a section for each", () => {
    const { version } = parse(text("Chart.yaml")) as { version: string };
    const [newest = "", next] = [...text("CHANGELOG.md").matchAll(/^## (\S+)/gm)].map(
      ([, one]) => one,
    );
    expect([newest, next]).to.include(version);
    if (newest !== version) expect(isGreater(newest, version)).to.equal(true);
    for (const one of [version, newest]) {
      expect(text("UPGRADING.md").split("\n")).to.include(`## To ${one}`);
    }
  });
});

/** A component's path as the paths it stands for: in `defaults`, and in each component. */
function concrete(path: string): string[] {
  if (!path.startsWith("~.")) return [path];
  return ["defaults", ...components.map(({ name }) => name)].map((name) => name + path.slice(1));
}

function allOf(keys: readonly ValueKey[]): ValueKey[] {
  return keys.flatMap((key) => [key, ...allOf(key.children)]);
}

function pathsOf(keys: readonly ValueKey[]): string[] {
  return allOf(keys).map(({ path }) => path);
}

function leavesOf(keys: readonly ValueKey[]): ValueKey[] {
  return keys
    .flatMap((key) =>
      key.children.length > 0 && key.keywords === undefined ? leavesOf(key.children) : [key],
    )
    .filter(
      ({ children, value, keywords }) =>
        children.length > 0 || keywords !== undefined || !isEmptyMap(value),
    );
}

function isEmptyMap(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.keys(value).length === 0 &&
    !Array.isArray(value)
  );
}
