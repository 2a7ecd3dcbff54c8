/**
 * Stripe's own libraries accept our signature (gateway/docs/guides/verify-webhooks.md): its header has the form of
 * Stripe's. Their check refuses an old time, but not one in the future.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import Stripe from "stripe";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { signingKey, signWebhook } from "../../../services/shared/core/webhook-signature.ts";
import { skipSince } from "../../support/skip.ts";

const SECRET = "whsec_zYq0uE1v3S5nB7mK9pL2dF4gH6jA8cQ";
const BODY =
  '{"data":{"object":{"body":"₦5 “ok” 😀"}},"id":"evt_1","type":"message.status_changed"}';
const NOW_S = Math.floor(Date.now() / 1000);

type Case = {
  readonly name: string;
  readonly header: string;
  readonly body: string;
  readonly genuine: boolean;
};

const sign = (secrets: readonly string[], t = NOW_S) =>
  signWebhook(secrets.map(signingKey), t, Buffer.from(BODY));

const CASES: readonly Case[] = [
  { name: "signed now", header: sign([SECRET]), body: BODY, genuine: true },
  { name: "rotation, new secret", header: sign([SECRET, "whsec_old"]), body: BODY, genuine: true },
  { name: "rotation, old secret", header: sign(["whsec_new", SECRET]), body: BODY, genuine: true },
  { name: "another body", header: sign([SECRET]), body: `${BODY} `, genuine: false },
  { name: "another secret", header: sign(["whsec_other"]), body: BODY, genuine: false },
  { name: "an old time", header: sign([SECRET], NOW_S - 400), body: BODY, genuine: false },
  { name: "an empty header", header: "", body: BODY, genuine: false },
];
const wanted = CASES.map(({ name, genuine }) => `${name}: ${genuine}`);

/** Packages of Python for tests: `pip install --target .local/python stripe==…` puts Stripe's there. */
const PYTHON_PACKAGES = join(ROOT, ".local/python");

const PYTHON = `
import json, sys
import stripe
for case in json.load(sys.stdin):
    try:
        stripe.WebhookSignature.verify_header(case["body"], case["header"], case["secret"], 300)
        print("true")
    except stripe.SignatureVerificationError:
        print("false")
`;

describe("Stripe's webhook verifiers", () => {
  it("the one for Node accepts our signature, and refuses a wrong one", () => {
    const found = CASES.map(({ name, header, body }) => {
      try {
        const event = Stripe.webhooks.constructEvent(body, header, SECRET);
        expect(event.id).to.equal("evt_1");
        return `${name}: true`;
      } catch (error) {
        expect(error).to.be.instanceOf(Stripe.errors.StripeSignatureVerificationError);
        return `${name}: false`;
      }
    });
    expect(found).to.deep.equal(wanted);
  });

  it("the one for Python accepts our signature, and refuses a wrong one", function () {
    this.timeout(60_000);
    const env = { ...process.env, PYTHONPATH: existsSync(PYTHON_PACKAGES) ? PYTHON_PACKAGES : "" };
    if (spawnSync("python3", ["-c", "import stripe"], { env }).status !== 0) {
      skipSince(this, "Python has no stripe (pip install --target .local/python stripe==16.1.0)");
    }
    const input = JSON.stringify(CASES.map((one) => ({ ...one, secret: SECRET })));
    const { stdout, stderr } = spawnSync("python3", ["-c", PYTHON], {
      env,
      input,
      encoding: "utf8",
    });
    expect(stderr).to.equal("");
    const answers = stdout.trim().split("\n");
    expect(CASES.map(({ name }, at) => `${name}: ${answers[at]}`)).to.deep.equal(wanted);
  });
});
