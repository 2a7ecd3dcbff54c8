/**
 * The files of the image without a builder: what deploy/Dockerfile copies, the packages that stay,
 * Node, and the libraries that the runtime image brings. Runs as much like a container as the machine
 * allows: process 1 of its own namespaces, a root that cannot be written, a numeric user.
 */
import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../../deploy/dev/paths.ts";

/** The recipe, and its last stage, which is the image. */
export const DOCKERFILE: string = readFileSync(join(ROOT, "deploy/Dockerfile"), "utf8");
export const RUNTIME: string = DOCKERFILE.slice(DOCKERFILE.lastIndexOf("\nFROM "));

/** The user of the image. */
export const USER = 65532;

export type Image = {
  readonly path: string;
  /** How it runs here; anything but `container` for want of rights or tools. */
  readonly as: "container" | "chroot" | "files";
  /** Runs Node on these arguments to its end. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>): SpawnSyncReturns<string>;
  /** Starts Node as process 1; only as `container`. */
  start(args: readonly string[], env: Readonly<Record<string, string>>): RunningImage;
  remove(): void;
};

export type RunningImage = {
  /** Sends a signal to process 1. */
  signal(name: NodeJS.Signals): void;
  /** Exit code and output, after the exit. */
  readonly ended: Promise<{ readonly code: number | null; readonly said: string }>;
};

type LockedPackage = { dev?: boolean; optional?: boolean; devOptional?: boolean };
type Locked = { readonly packages: Record<string, LockedPackage> };

/** Puts the files together in a folder of its own. */
export function assembleImage(): Image {
  mkdirSync(join(ROOT, ".local"), { recursive: true });
  const path = mkdtempSync(join(ROOT, ".local/image-"));
  // The image's user does not own the folder.
  chmodSync(path, 0o755);
  copyFiles(path);
  copyPackages(path);
  const preload = ["services/strip-types-cache.mjs"];
  spawnSync(process.execPath, preload, { cwd: join(path, "app"), stdio: "ignore" });
  const hasLibraries = process.getuid?.() === 0 && copyLibraries(process.execPath, path);
  return openImage(path, hasLibraries, () => rmSync(path, { recursive: true, force: true }));
}

/** Runs the programs of a folder that is an image's root. */
export function openImage(path: string, hasLibraries: boolean, remove: () => void): Image {
  const works = (as: Image["as"]) => runToEnd(path, as, ["-e", ""], {}).status === 0;
  const as = (hasLibraries ? (["container", "chroot"] as const) : []).find(works) ?? "files";
  return {
    path,
    as,
    run: (args, env = {}) => runToEnd(path, as, args, env),
    start: (args, env) => start(path, args, env),
    remove,
  };
}

/** The paths of the packages that `npm ci --omit=dev --omit=optional` leaves. */
export function packagesThatStay(): string[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Locked;
  return Object.entries(packages)
    .filter(([path, one]) => path !== "" && !one.dev && !one.optional && !one.devOptional)
    .map(([path]) => path)
    .filter((path) => existsSync(join(ROOT, path)));
}

function copyFiles(image: string): void {
  const app = join(image, "app");
  for (const [, source = "", target = ""] of RUNTIME.matchAll(/^COPY (?!--from)(.*) (\S+)$/gm)) {
    for (const one of source.split(" ")) {
      const to = target.endsWith("/") ? join(app, target, one) : join(app, target);
      cpSync(join(ROOT, one), to, { recursive: true });
    }
  }
  // Folders that the base image and the Dockerfile create.
  mkdirSync(join(image, "tmp"));
  const journal = join(image, "var/lib/sms/journal");
  mkdirSync(journal, { recursive: true });
  if (process.getuid?.() === 0) chownSync(journal, USER, USER);
  const node = join(image, "usr/local/bin/node");
  mkdirSync(dirname(node), { recursive: true });
  const from = realpathSync(process.execPath);
  try {
    linkSync(from, node);
  } catch {
    copyFileSync(from, node);
  }
}

function copyPackages(image: string): void {
  const isLeftOut = /\.(map|d\.[cm]?ts)$/;
  for (const path of packagesThatStay()) {
    cpSync(join(ROOT, path), join(image, "app", path), {
      recursive: true,
      // Nested packages have rows of their own, some of which are for development.
      filter: (from) =>
        !from.slice(join(ROOT, path).length).includes("/node_modules/") && !isLeftOut.test(from),
    });
  }
}

/** Copies the libraries that a program is linked to; false when `ldd` fails. */
export function copyLibraries(program: string, image: string): boolean {
  const found = spawnSync("ldd", [program], { encoding: "utf8" });
  if (found.status !== 0) return false;
  for (const [path] of found.stdout.matchAll(/\/\S+\.so\S*/g)) {
    mkdirSync(join(image, dirname(path)), { recursive: true });
    copyFileSync(path, join(image, path));
  }
  return true;
}

const CHROOT = ["chroot", `--userspec=${USER}:${USER}`];
/** As in the chart's securityContext: a read-only root, a small /tmp, no new privileges. */
const CONTAINER = `
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" "$1" &&
mount -t tmpfs -o size=64m,mode=1777 tmpfs "$1/tmp" &&
mount -t tmpfs -o size=64m,uid=${USER} tmpfs "$1/var/lib/sms/journal" &&
cd / && exec setpriv --no-new-privs ${CHROOT.join(" ")} "$@"`;
const NAMESPACES = ["--mount", "--pid", "--ipc", "--fork", "--kill-child", "sh", "-c", CONTAINER];

function commandOf(image: string, as: Image["as"], args: readonly string[]): [string, string[]] {
  const inside = args.map((one) =>
    /^(services|deploy)\/\S+\.ts$/.test(one) ? `/app/${one}` : one,
  );
  const command = [image, "/usr/local/bin/node", ...inside];
  if (as === "container") return ["unshare", [...NAMESPACES, "sh", ...command]];
  if (as === "chroot") return ["chroot", [...CHROOT.slice(1), ...command]];
  return [join(image, "usr/local/bin/node"), [...args]];
}

function optionsFor(image: string, as: Image["as"], env: Readonly<Record<string, string>>) {
  const own = as === "files" ? {} : { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
  const app = as === "files" ? join(image, "app") : "/app";
  const preload = { NODE_OPTIONS: `--import=${app}/services/strip-types-cache.mjs` };
  return { env: { NODE_ENV: "production", ...preload, ...own, ...env }, cwd: join(image, "app") };
}

function runToEnd(
  image: string,
  as: Image["as"],
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): SpawnSyncReturns<string> {
  const [program, all] = commandOf(image, as, args);
  const limits = { timeout: 60_000, killSignal: "SIGKILL" } as const;
  return spawnSync(program, all, { encoding: "utf8", ...limits, ...optionsFor(image, as, env) });
}

function start(
  image: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): RunningImage {
  const [program, all] = commandOf(image, "container", args);
  const child = spawn(program, all, {
    stdio: ["ignore", "pipe", "pipe"],
    ...optionsFor(image, "container", env),
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  }
  return {
    signal(name) {
      const [first] = readdirSync(`/proc/${child.pid}/task/${child.pid}`).includes("children")
        ? readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").split(" ")
        : [];
      process.kill(Number(first), name);
    },
    ended: new Promise((resolve) => child.once("close", (code) => resolve({ code, said }))),
  };
}
