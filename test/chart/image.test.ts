import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../deploy/dev/paths.ts";
import { freePorts } from "../../deploy/dev/ports.ts";
import { eventually } from "../support/poll.ts";
import { startServers } from "../support/servers.ts";
import { skipSince } from "../support/skip.ts";
import { repositoryFiles } from "../support/source-files.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import {
  assembleImage,
  DOCKERFILE,
  type Image,
  packagesThatStay,
  RUNTIME,
} from "./assembled-image.ts";

const NO_CONTAINER = "namespaces of its own need rights that are missing";

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

  it("the build context holds exactly the copied files, and nothing for development", () => {
    const allowed = readFileSync(join(ROOT, ".dockerignore"), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const copied = DOCKERFILE.match(/^COPY (?!--from)(.*)$/gm)?.flatMap((line) =>
      line.split(" ").slice(1, -1),
    );
    expect([...new Set(copied)]).to.have.members(allowed);
  });

  it("the console is built from what its stage copies", function () {
    this.timeout(120_000);
    const stage = DOCKERFILE.split(/^FROM /m).find((text) => text.startsWith("node AS console"));
    const copied = [...(stage ?? "").matchAll(/^COPY (\S+) \1$/gm)].map(([, name = ""]) => name);
    const at = temporaryFolder("console-stage");
    try {
      for (const name of copied) cpSync(join(ROOT, name), join(at, name), { recursive: true });
      cpSync(join(ROOT, "package.json"), join(at, "package.json"));
      rmSync(join(at, "console/dist"), { recursive: true, force: true });
      symlinkSync(join(ROOT, "node_modules"), join(at, "node_modules"));
      const options = { cwd: at, encoding: "utf8" } as const;
      const { status, stderr } = spawnSync(process.execPath, ["console/build.ts"], options);
      expect(status, stderr).to.equal(0);
      expect(existsSync(join(at, "console/dist/operators/index.html"))).to.equal(true);
    } finally {
      rmSync(at, { recursive: true, force: true });
    }
  });

  it("no program starts a child, so that process 1 has no zombies to reap", () => {
    const code = repositoryFiles().filter(({ path }) => /^(services|gateway)\/.*\.ts$/.test(path));
    const starters = code.filter(({ text }) => /child_process|cluster"/.test(text));
    expect(starters.map(({ path }) => path)).to.deep.equal([]);
  });
});

type Bom = {
  readonly bomFormat: string;
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
  }[];
};

function nameAndVersion(folder: string): string {
  const text = readFileSync(join(folder, "package.json"), "utf8");
  const { name, version } = JSON.parse(text) as { name: string; version: string };
  return `${name}@${version}`;
}

/** Mebibytes that the files may take without the base image's libraries. */
const SIZE_MAX_MIB = 260;
const SERVICES = [
  ...["tenant", "sender-id", "wallet", "routing", "messaging", "carrier", "webhook", "gateway"],
  "campaign",
  "consent",
  "operator-console",
];

describe("the image's files, and nothing else, run every service", function () {
  this.timeout(180_000);
  let image: Image;

  before(() => {
    image = assembleImage();
    if (image.as !== "container") {
      process.stderr.write(`the image's files run as ${image.as}: no rights for namespaces here\n`);
    }
  });

  after(() => image.remove());

  for (const name of [...SERVICES, "smsc-simulator"]) {
    // Without the flag a process starts too: the migration and all services together, below.
    it(`${name} starts as far as its settings, and strips no types itself`, () => {
      const { status, stderr } = image.run(["--no-strip-types", "services/main.ts", name]);
      expect(stderr).to.match(new RegExp(`^${name}: The settings are not right:`));
      // The simulator calls no service and serves none.
      const missing = name === "smsc-simulator" ? "SMSC_PASSWORD" : "RPC_TOKEN";
      expect(stderr).to.contain(`${missing} is required`);
      expect(status).to.equal(1);
    });
  }

  it("the migration and smsctl strip no types themselves", () => {
    const migrate = image.run(["--no-strip-types", "services/main.ts", "migrate"]);
    expect(migrate.stderr).to.contain("is required");
    const smsctl = image.run(["--no-strip-types", "services/smsctl/main.ts", "tenant", "--help"]);
    expect(smsctl.stdout).to.contain("smsctl tenant create");
  });

  it("the migration, the operators' command line and the test of the chart start too", () => {
    const migrate = image.run(["services/main.ts", "migrate"]);
    expect(migrate.stderr).to.contain("MONGODB_URI is required");
    const trip = image.run(["deploy/smoke-test.ts", "http://127.0.0.1:1"]);
    expect(trip.stderr).to.contain("TENANT_GRPC is required");
    const smsctl = image.run(["services/smsctl/main.ts", "tenant", "--help"]);
    expect(smsctl.stderr).to.not.contain("ERR_MODULE_NOT_FOUND");
    expect(smsctl.stdout).to.contain("smsctl tenant create");
  });

  it("every module of the services can be loaded, those loaded late too", () => {
    const names = execFileSync("find", ["services", "gateway", "-name", "*.ts"], {
      cwd: join(image.path, "app"),
    });
    const late = names
      .toString()
      .split("\n")
      .filter((name) => /\.ts$/.test(name) && !/\/main\.ts$|\/examples\//.test(name));
    expect(late.length).to.be.greaterThan(100);
    const at = image.as === "files" ? `${image.path}/app/` : "/app/";
    const script = `for (const name of ${JSON.stringify(late)})
      await import(${JSON.stringify(at)} + name); process.exit(0)`;
    const { status, stderr } = image.run(["--input-type=module", "-e", script]);
    expect(stderr).to.equal("");
    expect(status).to.equal(0);
  });

  it("has every file that the documentation is built from", () => {
    const at = image.as === "files" ? `${image.path}/app/` : "/app/";
    const script = `const site = ${JSON.stringify(`${at}gateway/docs/site/`)};
      const load = (name) => import(site + name);
      (await load("assets.ts")).readAssets();
      const pages = [...(await load("guides.ts")).readGuides(), (await load("changelog.ts")).changelogPage()];
      console.log(pages.every(({ markdown }) => markdown !== ""), pages.length > 15);`;
    const { status, stdout, stderr } = image.run(["--input-type=module", "-e", script]);
    expect([status, stdout.trim()], stderr).to.deep.equal([0, "true true"]);
  });

  it("the recipe's list of what is inside names every package that stays, and none besides", function () {
    if (spawnSync("npm", ["--version"]).error !== undefined) skipSince(this, "there is no npm");
    const app = join(image.path, "app");
    const manifest = readFileSync(join(app, "package.json"));
    const step =
      /^RUN (npm pkg delete [\s\S]*?sbom\.cdx\.json)$/m.exec(DOCKERFILE)?.[1] ?? "exit 1";
    const made = spawnSync("sh", ["-c", step], { cwd: app, encoding: "utf8" });
    writeFileSync(join(app, "package.json"), manifest);
    expect(made.status, made.stderr).to.equal(0);
    const text = readFileSync(join(app, "sbom.cdx.json"), "utf8");
    const { bomFormat, components } = JSON.parse(text) as Bom;
    expect(bomFormat).to.equal("CycloneDX");
    const listed = components.map(({ name, version }) => `${name}@${version}`);
    const inside = packagesThatStay().map((path) => nameAndVersion(join(app, path)));
    expect([...new Set(listed)].sort()).to.deep.equal([...new Set(inside)].sort());
    for (const { name, purl, version } of components) expect(purl, name).to.contain(`@${version}`);
  });

  it("is small", () => {
    const [bytes = "0"] = execFileSync("du", ["-sb", image.path]).toString().split("\t");
    const mebibytes = Math.round(Number(bytes) / 1_048_576);
    const node = readFileSync(join(image.path, "usr/local/bin/node")).length / 1_048_576;
    process.stderr.write(`the image's files: ${mebibytes} MiB, ${Math.round(node)} of them Node\n`);
    expect(mebibytes).to.be.at.most(SIZE_MAX_MIB);
  });

  it("as process 1, a user above 0 with no rights sees a root that cannot be written", function () {
    if (image.as !== "container") skipSince(this, NO_CONTAINER);
    const script = `
      const fs = require("fs");
      const attempt = (file) => { try { fs.writeFileSync(file, ""); return "written" } catch (e) { return e.code } };
      const status = fs.existsSync("/proc/self/status") ? "there" : "away";
      console.log(JSON.stringify({ pid: process.pid, uid: process.getuid(), gid: process.getgid(),
        groups: process.getgroups(), app: attempt("/app/x"), root: attempt("/x"), tmp: attempt("/tmp/x"),
        journal: attempt("/var/lib/sms/journal/x"), proc: status }))`;
    const { stdout, stderr } = image.run(["-e", script]);
    expect(stderr).to.equal("");
    expect(JSON.parse(stdout)).to.deep.equal({
      ...{ pid: 1, uid: 65532, gid: 65532, groups: [65532] },
      ...{ app: "EROFS", root: "EROFS", tmp: "written", journal: "written", proc: "away" },
    });
  });

  it("migrates, gets ready with every service, and as process 1 ends in good order on SIGTERM", async function () {
    if (image.as !== "container") skipSince(this, NO_CONTAINER);
    const servers = await startServers();
    const [rest = 0, grpc = 0, ops = 0] = await freePorts(3);
    const addresses = ["TENANT", "SENDER_ID", "WALLET", "ROUTING", "MESSAGING", "WEBHOOK"];
    const env = {
      MONGODB_URI: servers.mongodbUri,
      MONGODB_PREFIX: `image_${randomBytes(4).toString("hex")}`,
      NATS_URL: servers.natsUrl,
      REDIS_URL: servers.redisUrl,
      RPC_TOKEN: randomBytes(16).toString("hex"),
      CURSOR_KEY: randomBytes(32).toString("base64"),
      ENCRYPTION_KEYS: `image:${randomBytes(32).toString("base64")}`,
      CARRIER_JOURNAL_DIR: "/var/lib/sms/journal",
      CARRIER_ID: "image-0",
      ...{ PORT: String(rest), GRPC_PORT: String(grpc), OPS_PORT: String(ops) },
      ...Object.fromEntries(addresses.map((one) => [`${one}_GRPC`, `127.0.0.1:${grpc}`])),
    };
    try {
      const migrated = image.run(["services/main.ts", "migrate"], env);
      expect(migrated.status, migrated.stderr + migrated.stdout).to.equal(0);
      const running = image.start(["services/main.ts", ...SERVICES], env);
      const isReady = async () => (await fetch(`http://127.0.0.1:${ops}/readyz`)).ok;
      try {
        await eventually(isReady, { timeoutMs: 60_000, what: "a ready image" });
      } finally {
        running.signal("SIGTERM");
      }
      const { code, said } = await running.ended;
      expect(code, said).to.equal(0);
      expect(said).to.not.match(/"level":"(error|fatal)"/);
    } finally {
      await servers.stop();
    }
  });
});
