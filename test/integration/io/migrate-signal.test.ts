/** A migration that is told to end does so at once, as the first process of a container too. */
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
      // Takes connections and says nothing.
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
        // Without a handler the signal would have ended it: a code of null, and nothing at all as process 1.
        expect(await once(child, "exit")).to.deep.equal([code, null]);
      } finally {
        child.kill("SIGKILL");
        silent.close();
        await once(silent, "close");
      }
    });
  }
});
