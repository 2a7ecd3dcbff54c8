import { consoleLink, operatorLink } from "./console-link.ts";
import { runDemo, sayNext } from "./demo.ts";
import { runCommand, StackError } from "./stack-error.ts";
import { startStack } from "./start-stack.ts";

/** `make up`: starts the stack, then follows one real message. */
await runCommand(async () => {
  const begunMs = performance.now();
  const abort = new AbortController();
  const stop = () => abort.abort(new StackError("stopped before it was up"));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
  const stack = await startStack({
    env: process.env,
    hasSmallJournal: true,
    signal: abort.signal,
    progress: (line) => process.stdout.write(`  ${line}\n`),
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  const took = ((performance.now() - begunMs) / 1000).toFixed(1);
  process.stdout.write(`up in ${took} s: ${stack.gateway} (docs ${stack.docs})\n\n`);
  await runDemo(stack);
  process.stdout.write(`\nconsole: ${await consoleLink(stack)}\n`);
  process.stdout.write(`operators: ${await operatorLink(stack)}\n`);
  sayNext();
});
