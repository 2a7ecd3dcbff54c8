import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Failure, nameOf } from "./run-target.ts";

const FOLDER = join(import.meta.dirname, "corpus");

/** The inputs kept for a target, in the order of their names. */
export function readCorpus(target: string): Buffer[] {
  const folder = join(FOLDER, target);
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder)
    .sort()
    .map((name) => readFileSync(join(folder, name)));
}

/** Keeps an input that failed, so that every later run of the tests tries it again. */
export function keepFailure(target: string, { input }: Failure): string {
  const file = join(FOLDER, target, `failure-${nameOf(input)}`);
  writeFileSync(file, input);
  return file;
}
