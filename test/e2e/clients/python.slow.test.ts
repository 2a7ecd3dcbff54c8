/** The Python client against the real service: runs `clients/python/tests`, and checks the types with mypy. */
import { execFile } from "node:child_process";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { openFaultyProxy } from "../../support/faulty-proxy.ts";
import { pythonWith } from "../../support/python-venv.ts";
import { type RestStack, sharedRestStack } from "../../support/rest.ts";

const run = promisify(execFile);
const PACKAGE = join(ROOT, "clients/python");
const PACKAGES = ["urllib3==2.8.0", "mypy==2.4.1"];

describe("the Python client", function () {
  this.timeout(240_000);
  let python: string;
  let rest: RestStack;
  let silent: Server;

  before(async function () {
    python = await pythonWith(this, "python", PACKAGES);
    rest = await sharedRestStack();
    // Takes connections and never answers.
    silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  });
  after(() => {
    silent?.close();
  });

  it("passes its tests", async () => {
    const [customer, reader, poor, hasty, hooked] = await Promise.all([
      rest.addCustomer(),
      rest.addCustomer(),
      rest.addCustomer({ funds: 10_000n }),
      rest.addCustomer({ rateLimit: 1, burst: 1 }),
      rest.addCustomer(),
    ]);
    const proxy = await openFaultyProxy(rest.stack.gateway);
    const address = silent.address() as { port: number };
    const setup = {
      gateway: rest.stack.gateway,
      receiver: rest.stack.receiver.url,
      events: rest.stack.receiver.events,
      proxy: proxy.url,
      silent: `http://127.0.0.1:${address.port}`,
      api_key: customer.apiKey,
      test_key: customer.testKey,
      list_key: reader.apiKey,
      poor_key: poor.apiKey,
      hasty_key: hasty.apiKey,
      hook_key: hooked.apiKey,
      reader_key: await customer.addKey({ scopes: ["messages:read"] }),
    };
    try {
      const env = {
        ...process.env,
        SMS_TEST: JSON.stringify(setup),
        PYTHONPATH: join(PACKAGE, "src"),
        PYTHONDONTWRITEBYTECODE: "1",
      };
      const options = { cwd: join(PACKAGE, "tests"), env };
      const { stderr } = await run(python, ["-m", "unittest", "-v", "test_service"], options);
      expect(stderr).to.match(/^Ran 13 tests in [\d.]+s$/m);
      expect(stderr).to.match(/^OK$/m);
      expect(new Set(proxy.keys).size, "every attempt had one key").to.equal(1);
    } finally {
      proxy.close();
    }
  });

  it("has strict types", async () => {
    const cache = join(ROOT, ".local/clients/mypy");
    const args = ["-m", "mypy", "--strict", "--cache-dir", cache, "src"];
    const { stdout } = await run(python, args, { cwd: PACKAGE });
    expect(stdout).to.match(/^Success/);
  });
});
