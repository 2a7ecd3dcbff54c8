import { readJson } from "./json-file.ts";
import type { Layout } from "./paths.ts";
import { runningProcesses } from "./pid-files.ts";
import { StackError } from "./stack-error.ts";
import type { StackFile } from "./stack-file.ts";

/** The check of every command that needs a running stack. */
export const STACK_IS_DOWN = "the stack is down: make up";

/** The contents of stack.json; throws one line when no process of the stack runs. */
export function requireRunningStack(layout: Layout): StackFile {
  const stack = readJson<StackFile>(layout.stackFile);
  if (stack !== undefined && runningProcesses(layout.runDir).size > 0) return stack;
  throw new StackError(STACK_IS_DOWN);
}
