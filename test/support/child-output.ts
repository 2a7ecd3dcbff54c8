import type { ChildProcess } from "node:child_process";

/** Collects the output of a process in `seen`; `ended` is its exit code, once both streams are closed. */
export function collectOutput(child: ChildProcess) {
  const seen = { out: "", err: "" };
  child.stdout?.on("data", (piece) => {
    seen.out += piece;
  });
  child.stderr?.on("data", (piece) => {
    seen.err += piece;
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { seen, ended };
}
