/** A signal ends a migration at once, even as the first process of a container. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect } from "chai";

const MAIN = join(import.meta.dirname, "../../../services/main.ts");

describe("a migration that waits for a server", function () {
  this.timeout(30_000);

  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const) {
    it(`ends with ${code} on ${signal}, by its own handler`, async () => {
      // Accepts connections and stays silent.
      const silent = createServer((socket) => socket.on("error", () => {})).listen(0, "127.0.0.1");
      await once(silent, "listening");
      const child = spawn(process.execPath, [MAIN, "migrate"], {
        env: {
          PATH: process.env.PATH,
          NATS_URL: `nats://127.0.0.1:${(silent.address() as AddressInfo).port}`,
          MONGODB_URI: "mongodb://db.example",
        },
        stdio: "ignore",
      });
      try {
        await once(silent, "connection");
        child.kill(signal);
        // Without a handler the signal would end it with a code of null, and would not end process 1 at all.
        expect(await once(child, "exit")).to.deep.equal([code, null]);
      } finally {
        child.kill("SIGKILL");
        silent.close();
        await once(silent, "close");
      }
    });
  }
});
