import { expect } from "chai";
import { importsOf, repositoryFiles, type SourceFile } from "./source-files.ts";

/** Every text file of the repository, and those of them that are source code written by hand. */
export const files: readonly SourceFile[] = repositoryFiles();
export const sources = files.filter(
  ({ path }) =>
    /\.m?[tj]sx?$/.test(path) &&
    !path.startsWith("proto/gen/") &&
    !path.includes("/src/generated/"),
);
export const markdown = files.filter(({ path }) => path.endsWith(".md"));

/**
 * Defines a test that lists every breach of a rule. `exceptions` are breaches that are allowed, each
 * with its reason in a comment; an exception that matches no breach fails the test, so the list
 * only shrinks.
 */
export function rule(
  name: string,
  breaches: () => string[],
  exceptions: readonly string[] = [],
): void {
  it(name, () => {
    const found = breaches();
    expect(found.filter((breach) => !exceptions.includes(breach))).to.deep.equal([]);
    expect(
      exceptions.filter((breach) => !found.includes(breach)),
      "exceptions without a breach",
    ).to.deep.equal([]);
  });
}

/** `path:line` of each line for which `isWrong` returns true. */
export function linesWith(
  among: readonly SourceFile[],
  isWrong: (line: string) => boolean,
): string[] {
  return among.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, at) => (isWrong(line) ? [`${path}:${at + 1}`] : [])),
  );
}

/** Every import `from → to` for which `breaks` returns true. */
export function arrows(breaks: (from: string, to: string) => boolean): string[] {
  return sources.flatMap((file) =>
    importsOf(file)
      .filter((to) => breaks(file.path, to))
      .map((to) => `${file.path} → ${to}`),
  );
}

/** Whether a file or a folder of this path exists in the repository. */
export function exists(path: string): boolean {
  return files.some((file) => file.path === path || file.path.startsWith(`${path}/`));
}
