/** A process collects garbage in its first idle second, and not while requests would wait for it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { eventually } from "../../support/poll.ts";
import { runAtInterval } from "../../support/run-at-interval.ts";

/** Answers each request with the number of full collections so far, and prints its port. */
const PROGRAM = `
  import { createServer } from "node:http";
  import { constants, PerformanceObserver } from "node:perf_hooks";
  import { releaseIdleMemory } from ${JSON.stringify(join(ROOT, "services/shared/io/release-idle-memory.ts"))};
  let collections = 0;
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) {
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections += 1;
    }
  }).observe({ entryTypes: ["gc"] });
  const server = createServer((request, response) => response.end(String(collections)));
  server.listen(0, "127.0.0.1", () => {
    releaseIdleMemory(1);
    console.log(server.address().port);
  });
`;
/** More than two samples of the process. */
const REQUESTS = 60;

describe("the collection of an idle process", function () {
  this.timeout(60_000);
  let child: ChildProcess;
  let url = "";

  before(async () => {
    child = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [port] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    url = `http://127.0.0.1:${Number(port)}`;
  });
  after(async () => {
    child.kill("SIGKILL");
    await once(child, "close");
  });

  const collections = async () => Number(await (await fetch(url)).text());

  it("waits for a second without requests", async () => {
    const requests = Array.from({ length: REQUESTS }, (_, at) => at);
    await runAtInterval(requests, 50, async () => {
      expect(await collections(), "collections beside twenty requests a second").to.equal(0);
    });
    await eventually(async () => (await collections()) > 0, { timeoutMs: 20_000, everyMs: 2500 });
  });
});
