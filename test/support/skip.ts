/** Skips a test, or what comes after a hook, and prints why: `make test` shows it. */
export function skipSince(test: Mocha.Context, why: string): never {
  process.stderr.write(`skipped, since ${why}\n`);
  return test.skip();
}
