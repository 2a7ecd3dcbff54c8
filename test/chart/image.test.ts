import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../deploy/dev/layout.ts";

const DOCKERFILE = readFileSync(join(ROOT, "deploy/Dockerfile"), "utf8");
const RUNTIME = DOCKERFILE.slice(DOCKERFILE.lastIndexOf("\nFROM "));

type Locked = { readonly packages: Record<string, { dev?: boolean; devOptional?: boolean }> };

describe("the image's recipe", () => {
  it("every base is pinned by digest", () => {
    const bases = [...DOCKERFILE.matchAll(/^FROM (\S+)(?: AS (\S+))?$/gm)];
    const stages = bases.map(([, , stage]) => stage);
    const outside = bases.map(([, base = ""]) => base).filter((base) => !stages.includes(base));
    expect(outside).to.have.length(3).and.to.include("scratch");
    for (const base of outside.filter((one) => one !== "scratch")) {
      expect(base).to.match(/@sha256:[0-9a-f]{64}$/);
    }
  });

  it("the user is a number, and labels say what and from where", () => {
    expect(RUNTIME).to.match(/^USER 65532:65532$/m);
    for (const label of ["title", "version", "revision", "licenses"]) {
      expect(RUNTIME).to.contain(`org.opencontainers.image.${label}=`);
    }
  });

  it("what goes to the builder is what is copied, and nothing that runs only in development", () => {
    const allowed = readFileSync(join(ROOT, ".dockerignore"), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const copied = DOCKERFILE.match(/^COPY (?!--from)(.*)$/gm)?.flatMap((line) =>
      line.split(" ").slice(1, -1),
    );
    expect([...new Set(copied)]).to.have.members(allowed);
  });
});

describe("the image's files, and nothing else, run every service", function () {
  this.timeout(120_000);
  let image: string;
  let isChroot = false;

  before(() => {
    mkdirSync(join(ROOT, ".local"), { recursive: true });
    image = mkdtempSync(join(ROOT, ".local/image-"));
    // The image's user is not the one who made the folder.
    chmodSync(image, 0o755);
    assemble(image);
    isChroot = process.getuid?.() === 0 && canChroot(image);
  });

  after(() => rmSync(image, { recursive: true, force: true }));

  for (const name of [
    ...["gateway", "tenant", "sender-id", "wallet", "routing", "messaging", "carrier"],
    ...["webhook", "smsc-simulator"],
  ]) {
    it(`${name} starts as far as its settings`, () => {
      const { status, stderr } = runInImage(image, isChroot, ["services/main.ts", name]);
      expect(stderr).to.match(new RegExp(`^${name}: The settings are not right:`));
      expect(stderr).to.contain("RPC_TOKEN is required");
      expect(status).to.equal(1);
    });
  }

  it("the migration, the operators' command line and the test of the chart start too", () => {
    const migrate = runInImage(image, isChroot, ["services/main.ts", "migrate"]);
    expect(migrate.stderr).to.contain("MONGODB_URI is required");
    const trip = runInImage(image, isChroot, ["deploy/round-trip.ts", "http://127.0.0.1:1"]);
    expect(trip.stderr).to.contain("TENANT_GRPC is required");
    const smsctl = runInImage(image, isChroot, ["services/smsctl/main.ts", "--help"]);
    expect(smsctl.stderr).to.not.contain("ERR_MODULE_NOT_FOUND");
    expect(smsctl.stdout).to.contain("tenant create");
  });

  it("every module of the services can be loaded, those loaded late too", () => {
    const names = execFileSync("find", ["services", "gateway", "-name", "*.ts"], {
      cwd: join(image, "app"),
    });
    const late = names
      .toString()
      .split("\n")
      .filter((name) => /\.ts$/.test(name) && !/\/main\.ts$|\/examples\//.test(name));
    expect(late.length).to.be.greaterThan(100);
    const script = `for (const name of ${JSON.stringify(late)}) await import("/app/" + name); process.exit(0)`;
    const text = isChroot ? script : script.replaceAll('"/app/"', JSON.stringify(`${image}/app/`));
    const { status, stderr } = runInImage(image, isChroot, ["--input-type=module", "-e", text]);
    expect(stderr).to.equal("");
    expect(status).to.equal(0);
  });
});

/** Copies what the recipe copies: its COPY lines, and the packages that `npm ci --omit=dev` leaves. */
function assemble(image: string): void {
  const app = join(image, "app");
  for (const [, source = "", target = ""] of RUNTIME.matchAll(/^COPY (?!--from)(.*) (\S+)$/gm)) {
    for (const one of source.split(" ")) {
      const to = target.endsWith("/") ? join(app, target, one) : join(app, target);
      cpSync(join(ROOT, one), to, { recursive: true });
    }
  }
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Locked;
  for (const [path, { dev = false, devOptional = false }] of Object.entries(packages)) {
    if (path === "" || dev || devOptional || !existsSync(join(ROOT, path))) continue;
    cpSync(join(ROOT, path), join(app, path), {
      recursive: true,
      // Nested packages have rows of their own, some of which are for development.
      filter: (from) => !from.slice(join(ROOT, path).length).includes("/node_modules/"),
    });
  }
  const node = join(image, "usr/local/bin/node");
  mkdirSync(dirname(node), { recursive: true });
  linkOrCopy(process.execPath, node);
}

/** Adds the libraries that Node is linked to, as the runtime image brings them; needs `ldd`. */
function canChroot(image: string): boolean {
  const found = spawnSync("ldd", [process.execPath], { encoding: "utf8" });
  if (found.status !== 0) return false;
  for (const [path] of found.stdout.matchAll(/\/\S+\.so\S*/g)) {
    mkdirSync(join(image, dirname(path)), { recursive: true });
    copyFileSync(path, join(image, path));
  }
  return runInImage(image, true, ["-e", ""]).status === 0;
}

function runInImage(image: string, isChroot: boolean, args: readonly string[]) {
  const env = { NODE_ENV: "production" };
  const paths = args.map((arg) => (/^(services|deploy)\/\S+\.ts$/.test(arg) ? `/app/${arg}` : arg));
  if (isChroot) {
    const chroot = ["--userspec=65532:65532", image, "/usr/local/bin/node", ...paths];
    return spawnSync("chroot", chroot, {
      env: { ...env, PATH: "/usr/sbin:/usr/bin" },
      encoding: "utf8",
    });
  }
  const node = join(image, "usr/local/bin/node");
  return spawnSync(node, [...args], {
    cwd: join(image, "app"),
    env,
    encoding: "utf8",
    timeout: 60_000,
    killSignal: "SIGKILL",
  });
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
