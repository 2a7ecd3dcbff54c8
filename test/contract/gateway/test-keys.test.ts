/** A test key changes no rules of live messages (docs/contract.md#test-mode). */
import { expect } from "chai";
import { createOperations } from "../../../gateway/operations/all.ts";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { SCOPES } from "../../../services/shared/core/scopes.ts";
import { API_KEY, memoryPorts, openRestApp } from "../../support/rest-app.ts";

/** Changing operations whose effects belong to the mode of their caller. A new one needs a row here or below. */
const OF_A_MODE = [
  "addCampaignRecipients",
  "cancelCampaign",
  "cancelMessage",
  "createApiKey",
  "createCampaign",
  "createWebhookEndpoint",
  "deleteCampaign",
  "deleteWebhookEndpoint",
  "estimateCampaign",
  "pauseCampaign",
  "previewCampaign",
  "previewMessage",
  "recoverWebhookDeliveries",
  "removeCampaignRecipients",
  "resendWebhookDelivery",
  "resumeCampaign",
  "revokeApiKey",
  "rotateWebhookSecret",
  "sendBatch",
  "sendBulk",
  "sendMessage",
  "sendWebhookTest",
  "startCampaign",
  "testCampaign",
  "updateCampaign",
  "updateWebhookEndpoint",
];

/** Changing operations that affect the account in both modes. */
const OF_THE_ACCOUNT = ["addSuppressions", "removeSuppression", "requestSenderId", "updateAccount"];

const CHANGES = createOperations(memoryPorts(), false).filter(({ method }) => method !== "GET");

const TEST_CALLER = { mode: Mode.TEST as const, scopes: new Set(SCOPES) };
const SESSION = {
  id: "ses_00000000000000000000000000",
  name: "ada@example.org",
  role: "owner",
  tenantName: "Acme",
  expiresAtMs: 0,
} as const;

/** The changing operations that answer 403 to a caller in test mode with every scope. */
async function refused(isPerson: boolean): Promise<string[]> {
  const app = await openRestApp({
    caller: isPerson ? { ...TEST_CALLER, session: SESSION } : TEST_CALLER,
  });
  try {
    const ids = [];
    for (const { method, path, doc } of CHANGES) {
      const response = await fetch(app.url + path.replace(/:\w+/g, "x"), {
        method,
        headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
        body: "{}",
      });
      const { code } = (await response.json()) as { code: string };
      if (response.status !== 403) continue;
      expect(code, doc.id).to.equal("insufficient_scope");
      ids.push(doc.id);
    }
    return ids.sort();
  } finally {
    await app.close();
  }
}

describe("REST: test keys", () => {
  it("every changing operation belongs to a mode or to the account", () => {
    const ids = new Set(CHANGES.map(({ doc }) => doc.id));
    expect([...ids].sort()).to.deep.equal([...OF_A_MODE, ...OF_THE_ACCOUNT].sort());
  });

  it("a test key with every scope changes nothing of the account", async () => {
    expect(await refused(false)).to.deep.equal(OF_THE_ACCOUNT);
  });

  it("a person in the console's test mode has the rights of the role", async () => {
    expect(await refused(true)).to.deep.equal([]);
  });

  it("a test key sees no suppressions, as JSON or as a file", async () => {
    const app = await openRestApp({
      caller: TEST_CALLER,
    });
    for (const [accept, body] of [
      ["application/json", '{"data":[],"next_cursor":null}'],
      ["text/csv", "number,sender,source,reason,created_at\r\n"],
    ] as const) {
      const headers = { authorization: `Bearer ${API_KEY}`, accept };
      const response = await fetch(`${app.url}/v1/suppressions`, { headers });
      expect(await response.text()).to.equal(body);
    }
    await app.close();
  });
});
