/** Every operation of the OpenAPI document has a method in both clients. */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect } from "chai";
import { clientDocument, currentOperations } from "../../../clients/generate/document.ts";
import { createSmsClient } from "../../../clients/typescript/src/client.ts";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { CLIENT_CALLS, executeCall } from "../../support/client-operations.ts";

type Seen = {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
  readonly contentType: string | undefined;
  readonly body: string;
};

const operations = currentOperations(clientDocument());

describe("the methods of the clients", () => {
  const seen: Seen[] = [];
  let server: Server;
  let baseUrl: string;

  before(async () => {
    server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      seen.push({
        method: request.method ?? "",
        path: (request.url ?? "").split("?")[0] ?? "",
        key: request.headers["idempotency-key"] as string | undefined,
        contentType: request.headers["content-type"],
        body,
      });
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ data: [], next_cursor: null }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    seen.length = 0;
  });

  for (const { operationId, method, path, parameters } of operations) {
    it(`TypeScript: ${operationId} sends ${method} ${path}`, async () => {
      const call = CLIENT_CALLS[operationId];
      if (call === undefined) throw new Error(`clients/typescript has no ${operationId}`);
      const sms = createSmsClient({ apiKey: "sk_test_x", baseUrl });
      await executeCall(sms, call);
      expect(seen).to.have.length(1);
      expect(seen[0]?.method).to.equal(method);
      // One segment for each parameter, however it is spelt.
      expect(seen[0]?.path).to.match(new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`));
      const takesKey = parameters.some(({ name }) => name === "Idempotency-Key");
      expect(/^[0-9a-f]{32}$/.test(seen[0]?.key ?? "")).to.equal(takesKey);
    });
  }

  it("TypeScript: a CSV file is sent as it is, with its type", async () => {
    const sms = createSmsClient({ apiKey: "sk_test_x", baseUrl });
    await sms.campaigns.addRecipientsCsv("cmp_1", "to,name\n08031234567,Ada\n");
    await sms.suppressions.addCsv(new TextEncoder().encode("number\n08031234567\n"));
    await sms.suppressions.addCsv(new Blob(["number\n08031234567\n"]));
    expect(seen.map(({ contentType }) => contentType)).to.deep.equal(Array(3).fill("text/csv"));
    expect(seen.map(({ body }) => body)).to.deep.equal([
      "to,name\n08031234567,Ada\n",
      "number\n08031234567\n",
      "number\n08031234567\n",
    ]);
  });

  it("Python: every operation is called somewhere in the methods", () => {
    const text = ["resources.py", "campaigns.py"]
      .map((name) => readFileSync(join(ROOT, "clients/python/src/sms_messaging", name), "utf8"))
      .join("\n");
    const missing = operations.filter(({ operationId }) => !text.includes(`"${operationId}"`));
    expect(missing.map(({ operationId }) => operationId)).to.deep.equal([]);
  });

  it("an empty id, a key of another kind and a base URL that is none are refused", () => {
    const sms = createSmsClient({ apiKey: "sk_live_x", baseUrl });
    expect(sms.mode).to.equal("live");
    expect(() => createSmsClient({ apiKey: "secret", baseUrl })).to.throw(TypeError, /sk_live_/);
    expect(() => createSmsClient({ apiKey: "sk_test_x", baseUrl: "api" })).to.throw(TypeError);
    return sms.messages.get("").then(
      () => expect.fail("an empty id was sent"),
      (error: Error) => expect(error.message).to.equal("message_id is empty"),
    );
  });
});
