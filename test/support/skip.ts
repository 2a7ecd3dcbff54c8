/** Skips a test, or the tests after a hook, and prints the reason, which `make test` lists. */
export function skipSince(test: Mocha.Context, why: string): never {
  process.stderr.write(`skipped, since ${why}\n`);
  return test.skip();
}
