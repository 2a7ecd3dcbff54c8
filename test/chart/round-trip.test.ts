import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { ensureCertificates } from "../../deploy/dev/certificates.ts";
import { ROOT } from "../../deploy/dev/paths.ts";
import { portOf } from "../../deploy/dev/port-layout.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { ONE_PROCESS, startTestStack, type TestStack } from "../support/stack.ts";
import { answer, type Receiver, startReceiver } from "../support/webhook-receiver.ts";

describe("the program of helm test", function () {
  this.timeout(180_000);
  let stack: TestStack;
  let receiver: Receiver;

  before(async () => {
    stack = await startTestStack({ processes: ONE_PROCESS });
    const certificates = ensureCertificates(dirname(stack.receiver.ca_file));
    const base = Number(new URL(stack.gateway).port);
    receiver = await startReceiver(certificates, portOf(base, "listen"));
  });

  after(async () => {
    await stack?.stop();
    await receiver?.close();
  });

  it("takes one message of a test tenant from acceptance to delivery", async () => {
    const { code, said, complaint } = await roundTrip([]);
    expect(complaint).to.equal("");
    expect(said.map((line) => line.replace(/^msg_\w+/, "a message"))).to.deep.equal([
      "a message accepted",
      "a message delivered",
      "webhook left out: no URL was given",
      "all went well",
    ]);
    expect(code).to.equal(0);
  });

  it("with a URL retries until that address has accepted the webhook", async () => {
    // More often than a tenant may have endpoints.
    for (let count = 1; count <= 6; count += 1) {
      const { code, said, complaint } = await roundTrip([`--webhook=${receiver.url()}`]);
      expect(complaint).to.equal("");
      expect(said.slice(2)).to.deep.equal(["webhook taken", "all went well"]);
      expect(code).to.equal(0);
    }
    const reported = receiver.received.map(({ body }) => body.toString());
    expect(reported.filter((body) => body.includes('"status":"delivered"'))).to.not.be.empty;
  });

  it("says so when the address does not take the webhook", async () => {
    receiver.behave(answer(500));
    const { code, complaint } = await roundTrip([`--webhook=${receiver.url()}`]);
    expect(complaint).to.equal("round trip: the webhook's first attempt failed: status 500\n");
    expect(code).to.equal(1);
  });

  it("ends with 1 and one line that names the step that failed", async () => {
    for (const [args, settings, words] of [
      [["--webhook=https://localhost:1/"], {}, /^round trip: .*url/i],
      [[], { RPC_TOKEN: "not-the-token-of-this-stack" }, /^round trip: .*unauthenticated/i],
    ] as const) {
      const { code, complaint } = await roundTrip(args, settings);
      expect(complaint.trimEnd().split("\n")).to.have.length(1);
      expect(complaint).to.match(words);
      expect(code).to.equal(1);
    }
  });

  /** Runs it with what the chart's pod is given. */
  async function roundTrip(args: readonly string[], settings: Record<string, string> = {}) {
    const { grpc } = stack;
    const program = [join(ROOT, "deploy/smoke-test.ts"), stack.gateway, ...args];
    const child = spawn(process.execPath, program, {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 90_000,
      env: {
        PATH: process.env.PATH,
        ...COMPILE_CACHE,
        RPC_TOKEN: stack.grpc_token,
        TENANT_GRPC: grpc.tenant,
        SENDER_ID_GRPC: grpc["sender-id"],
        WEBHOOK_GRPC: grpc.webhook,
        ...settings,
      },
    });
    const [out, complaint] = await Promise.all([child.stdout, child.stderr].map(textOf));
    const code = child.exitCode ?? (await new Promise((resolve) => child.once("exit", resolve)));
    return { code, said: out?.trimEnd().split("\n") ?? [], complaint: complaint ?? "" };
  }
});

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}
