/** The webhook checks of the published clients agree with every vector of a signature. */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "chai";
import { verifyWebhook, WebhookSignatureError } from "../../../clients/typescript/src/webhook.ts";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { SIGNATURE_VECTOR_LINES, SIGNATURE_VECTORS } from "../../support/signature-vectors.ts";
import { skipSince } from "../../support/skip.ts";

/** The module alone: the package itself needs urllib3, which verifying does not. */
const PYTHON_DRIVER = `
import base64, importlib.util, sys
spec = importlib.util.spec_from_file_location("webhooks", sys.argv[1])
webhooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(webhooks)
for line in sys.stdin.read().split("\\n"):
    header, body, secret, now = line.split("\\t")
    signature = None if header == "-" else base64.b64decode(header).decode("latin-1")
    try:
        event = webhooks.verify_webhook(base64.b64decode(body), signature, secret, now_s=float(now))
        print(int(event["id"] == "evt_1"))
    except webhooks.WebhookSignatureError:
        print(0)
`;

const wanted = SIGNATURE_VECTORS.map(({ name, genuine }) => `${name}: ${genuine}`);

describe("the signature check of the clients", () => {
  it("TypeScript returns the event of every genuine webhook and refuses every other", async () => {
    const found: string[] = [];
    for (const { name, header: signature, body, secret, nowS } of SIGNATURE_VECTORS) {
      const received = { body: new Uint8Array(body), signature, secret, nowMs: nowS * 1000 };
      const isGenuine = await verifyWebhook(received).then(
        ({ id }) => id === "evt_1",
        (error: unknown) => {
          if (error instanceof WebhookSignatureError) return false;
          throw error;
        },
      );
      found.push(`${name}: ${isGenuine}`);
    }
    expect(found).to.deep.equal(wanted);
  });

  it("Python returns the event of every genuine webhook and refuses every other", function () {
    this.timeout(60_000);
    if (spawnSync("python3", ["--version"]).error !== undefined) {
      skipSince(this, "there is no python3");
    }
    const file = join(ROOT, "clients/python/src/sms_messaging/webhooks.py");
    const options = { input: SIGNATURE_VECTOR_LINES };
    const answers = execFileSync("python3", ["-c", PYTHON_DRIVER, file], options)
      .toString()
      .match(/^[01]$/gm);
    const found = SIGNATURE_VECTORS.map(({ name }, at) => `${name}: ${answers?.[at] === "1"}`);
    expect(found).to.deep.equal(wanted);
  });
});
