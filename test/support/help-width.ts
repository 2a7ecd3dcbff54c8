/** The lines of a help text above 80 columns. The usage and examples are one line each, to be copied. */
export function tooWideLines(help: string): string[] {
  const isFree = (line: string) => /^(Usage: | {2}\$ )/.test(line);
  return help.split("\n").filter((line) => line.length > 80 && !isFree(line));
}
