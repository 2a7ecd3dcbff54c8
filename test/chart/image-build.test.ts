import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../deploy/dev/paths.ts";
import { skipSince } from "../support/skip.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { copyLibraries, DOCKERFILE, type Image, openImage } from "./assembled-image.ts";

const REVISION = "0123456789abcdef0123456789abcdef01234567";
/** The programs of the Dockerfile's first stages, besides Node and npm. */
const TOOLS = ["sh", "env", "mkdir", "cp", "chown", "find"];

type Config = {
  readonly User: string;
  readonly Entrypoint: string[];
  readonly Cmd: string[];
  readonly Env: string[];
  readonly StopSignal: string;
  readonly Labels: Readonly<Record<string, string>>;
};

describe("the recipe, built", function () {
  this.timeout(400_000);
  let folder: string;
  let image: Image;
  let config: Config;
  const driver = process.env.STORAGE_DRIVER ?? "overlay";

  before(function () {
    const missing = missingTool();
    if (missing !== undefined) skipSince(this, missing);
    folder = temporaryFolder("image-build");
    buildBases(folder);
    writeFileSync(join(folder, "Dockerfile"), onLocalBases(DOCKERFILE));
    const named = ["--build-arg", "VERSION=0.2.0", "--build-arg", `REVISION=${REVISION}`];
    build(["-f", join(folder, "Dockerfile"), ...named, "-t", "localhost/sms:test", ROOT]);
    const inspected = buildah(["inspect", "--type", "image", "localhost/sms:test"]);
    ({ config } = (JSON.parse(inspected) as { OCIv1: { config: Config } }).OCIv1);
    const container = buildah(["from", "localhost/sms:test"]).trim();
    image = openImage(buildah(["mount", container]).trim(), true, () => {});
  });

  after(() => {
    if (folder === undefined) return;
    buildah(["rm", "--all"]);
    buildah(["rmi", "--all", "--force"]);
    spawnSync("umount", [join(folder, "store", driver)]);
    rmSync(folder, { recursive: true, force: true });
  });

  it("carries a numeric user, Node as process 1, SIGTERM, and OCI labels", () => {
    expect(config.User).to.equal("65532:65532");
    expect([config.Entrypoint, config.Cmd]).to.deep.equal([["node"], ["services/main.ts"]]);
    expect(config.StopSignal).to.equal("SIGTERM");
    expect(config.Env).to.include("NODE_ENV=production");
    expect(config.Env).to.include("NODE_OPTIONS=--import=/app/services/strip-types-cache.mjs");
    expect(config.Labels).to.include({
      "org.opencontainers.image.title": "sms-messaging-service",
      "org.opencontainers.image.version": "0.2.0",
      "org.opencontainers.image.revision": REVISION,
      "org.opencontainers.image.licenses": "Apache-2.0",
    });
  });

  it("starts every service up to its settings, as the image's user with a read-only root", () => {
    const names = ["gateway", "tenant", "sender-id", "wallet", "routing", "messaging", "carrier"];
    for (const name of [...names, "webhook", "smsc-simulator"]) {
      // Nothing is left to be stripped of its types.
      const { status, stderr } = image.run(["--no-strip-types", "services/main.ts", name]);
      expect(stderr).to.match(new RegExp(`^${name}: The settings are not right:`));
      expect(status).to.equal(1);
    }
  });

  it("holds no development package, no source map, and the list of its packages", () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
      packages: Record<string, { dev?: boolean }>;
    };
    const app = join(image.path, "app");
    const found = spawnSync("find", [join(app, "node_modules"), "-name", "package.json"], {
      encoding: "utf8",
    }).stdout.split("\n");
    const there = new Set(found.map((file) => dirname(file).slice(app.length + 1)));
    for (const [path, { dev }] of Object.entries(packages)) {
      if (dev === true) expect(there.has(path), path).to.equal(false);
    }
    const maps = spawnSync("find", [app, "-name", "*.map"], { encoding: "utf8" }).stdout;
    expect(maps).to.equal("");
    const bom = JSON.parse(readFileSync(join(app, "sbom.cdx.json"), "utf8")) as {
      components: unknown[];
    };
    expect(bom.components.length).to.be.greaterThan(50);
  });

  it("is small", () => {
    const [{ size }] = JSON.parse(buildah(["images", "--json", "localhost/sms:test"])) as [
      { size: string },
    ];
    process.stderr.write(`the built image, without the base's own files: ${size}\n`);
    const [bytes = "0"] = spawnSync("du", ["-sb", image.path], { encoding: "utf8" }).stdout.split(
      "\t",
    );
    expect(Number(bytes) / 1_048_576).to.be.lessThan(260);
  });

  it("exports the list of its packages as its own target", () => {
    const out = join(folder, "out");
    const target = ["--target", "sbom", "--output", `type=local,dest=${out}`];
    build(["-f", join(folder, "Dockerfile"), ...target, ROOT]);
    const bom = JSON.parse(readFileSync(join(out, "sbom.cdx.json"), "utf8")) as {
      bomFormat: string;
    };
    expect(bom.bomFormat).to.equal("CycloneDX");
  });

  function buildah(args: readonly string[]): string {
    const store = ["--root", join(folder, "store"), "--runroot", join(folder, "run")];
    const all = [...store, "--storage-driver", driver, ...args];
    const done = spawnSync("buildah", all, { encoding: "utf8", maxBuffer: 64_000_000 });
    if (done.status !== 0)
      throw new Error(`buildah ${args.join(" ")}\n${done.stderr.slice(-4000)}`);
    return done.stdout;
  }

  function build(args: readonly string[]): void {
    buildah(["build", "--isolation", "chroot", "--pull=never", "--layers", ...args]);
  }

  /** Stands in for the two base images, which come from registries: this machine's own programs. */
  function buildBases(at: string): void {
    const node = join(at, "node");
    const programs = TOOLS.map((name) => ["usr/bin", pathOf(name)] as const);
    for (const [place, from] of [...programs, ["usr/local/bin", process.execPath] as const]) {
      const to = join(node, place, from === process.execPath ? "node" : nameOf(from));
      mkdirSync(dirname(to), { recursive: true });
      copyFileSync(realpathSync(from), to);
      copyLibraries(from, node);
    }
    const npm = dirname(dirname(realpathSync(pathOf("npm"))));
    cpSync(npm, join(node, "usr/lib/node_modules/npm"), { recursive: true });
    symlinkSync("../../lib/node_modules/npm/bin/npm-cli.js", join(node, "usr/local/bin/npm"));
    symlinkSync("usr/bin", join(node, "bin"));
    const atomic = spawnSync("sh", ["-c", "ls /usr/lib/*-linux-gnu/libatomic.so.1"], {
      encoding: "utf8",
    }).stdout.trim();
    mkdirSync(dirname(join(node, atomic)), { recursive: true });
    copyFileSync(atomic, join(node, atomic));
    writeNpmSettings(node);
    const cc = join(at, "cc");
    mkdirSync(join(cc, "tmp"), { recursive: true });
    copyLibraries(process.execPath, cc);
    for (const name of ["node", "cc"]) {
      // As the real one has it.
      const user = name === "cc" ? "USER 65532:65532\n" : "";
      writeFileSync(join(at, `${name}.Dockerfile`), `FROM scratch\nCOPY . /\n${user}`);
      const file = join(at, `${name}.Dockerfile`);
      buildah(["build", "-f", file, "-t", `localhost/base-${name}`, join(at, name)]);
    }
  }
});

/** Where this machine gets packages from, and the authorities it trusts; no credential. */
function writeNpmSettings(root: string): void {
  const registry = spawnSync("npm", ["config", "get", "registry"], { encoding: "utf8" });
  const lines = [`registry=${registry.stdout.trim()}`];
  const authorities = process.env.NODE_EXTRA_CA_CERTS;
  mkdirSync(join(root, "usr/local/etc"), { recursive: true });
  if (authorities !== undefined) {
    copyFileSync(authorities, join(root, "usr/local/etc/authorities.pem"));
    lines.push("cafile=/usr/local/etc/authorities.pem");
  }
  writeFileSync(join(root, "usr/local/etc/npmrc"), `${lines.join("\n")}\n`);
}

function missingTool(): string | undefined {
  if (process.getuid?.() !== 0) return "building needs root here";
  for (const name of ["buildah", "npm", "ldd"]) {
    if (pathOf(name) === "") return `${name} is not on PATH`;
  }
  return undefined;
}

function pathOf(name: string): string {
  return spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).stdout.trim();
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The recipe with its bases taken from this machine; nothing else of it is changed. */
function onLocalBases(recipe: string): string {
  return recipe
    .replace(/^FROM node:\S+/m, "FROM localhost/base-node")
    .replace(/^FROM gcr\.io\/\S+/m, "FROM localhost/base-cc");
}
