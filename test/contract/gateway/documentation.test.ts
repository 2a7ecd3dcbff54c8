/** How the documentation is served: compression, caching, policies, old addresses, and addresses that do not exist. */
import { request } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect } from "chai";
import { openRestApp, type RestApp } from "../../support/rest-app.ts";

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

describe("REST: documentation", function () {
  this.timeout(60_000);
  let app: RestApp;
  before(async () => {
    app = await openRestApp();
    await get("/docs");
  });
  after(() => app.close());

  function get(path: string, headers: Record<string, string> = {}, method = "GET") {
    // Node's fetch decodes bodies by itself, so the test names the encodings.
    return fetch(`${app.url}${path}`, { method, headers, redirect: "manual" });
  }

  it("are served without a key, below /docs and at the root", async () => {
    for (const path of ["/guides/quickstart", "/errors/conflict", "/openapi.json", "/reference"]) {
      const [below, root] = [await get(`/docs${path}`), await get(path)];
      expect([below.status, root.status], path).to.deep.equal([200, 200]);
      expect(await below.text()).to.equal(await root.text());
    }
  });

  it("the addresses of earlier releases still work", async () => {
    for (const path of [
      "/docs",
      "/docs/",
      "/docs/errors/rate_limited",
      "/errors/rate_limited",
      "/docs/examples/send",
      "/docs/examples/verify-webhook",
      "/docs/api/migrations/send-endpoint",
      "/api/migrations/send-endpoint",
      "/docs/openapi.json",
      "/openapi.json",
    ]) {
      expect((await get(path)).status, path).to.equal(200);
    }
    const text = await (await get("/docs")).text();
    for (const id of [
      "statuses",
      "money",
      "segments",
      "test-mode",
      "headers",
      "errors",
      "webhooks",
    ]) {
      expect(text, id).to.contain(`id="${id}"`);
    }
  });

  it("a slash too many, or a folder, leads to a page by a relative address", async () => {
    for (const [from, to] of [
      ["/docs/guides/quickstart/", "/docs/guides/quickstart"],
      ["/errors/conflict/", "/errors/conflict"],
      ["/docs/errors", "/docs/guides/errors"],
      ["/docs/guides", "/docs/guides/quickstart"],
    ]) {
      const { status, headers } = await get(from ?? "");
      const location = headers.get("location") ?? "";
      expect([status, new URL(location, `${app.url}${from}`).pathname]).to.deep.equal([308, to]);
      expect((await get(to ?? "")).status).to.equal(200);
    }
  });

  it("are compressed as the client accepts, and have an ETag for each encoding", async () => {
    const plain = await bytes("/docs/openapi.json", "identity");
    const gzip = await bytes("/docs/openapi.json", "gzip");
    const brotli = await bytes("/docs/openapi.json", "gzip, br");
    expect(gunzipSync(gzip.body).equals(plain.body)).to.equal(true);
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).to.equal(true);
    expect(brotli.body.length).to.be.lessThan(plain.body.length / 5);
    const tags = [plain, gzip, brotli].map(({ headers }) => headers.etag);
    expect(new Set(tags).size).to.equal(3);
    for (const { headers } of [plain, gzip, brotli]) {
      expect(headers.vary).to.equal("Accept-Encoding");
    }
  });

  it("a client that has the page gets 304 without a body", async () => {
    const first = await bytes("/docs", "br");
    const again = await bytes("/docs", "br", { "if-none-match": String(first.headers.etag) });
    expect(again.status).to.equal(304);
    expect(again.body.length).to.equal(0);
    const other = await bytes("/docs", "br", { "if-none-match": '"other"' });
    expect(other.status).to.equal(200);
  });

  it("pages are kept for minutes, assets with the hash of their content for a year", async () => {
    expect((await get("/docs")).headers.get("cache-control")).to.equal("public, max-age=300");
    const path = await assetPath("frame.css");
    const { headers } = await get(`/docs${path}`);
    expect(headers.get("cache-control")).to.equal("public, max-age=31536000, immutable");
  });

  it("an asset of another release is answered with this one's, for minutes only", async () => {
    const path = (await assetPath("site.js")).replace(/[0-9a-f]{12}/, "0123456789ab");
    const answer = await get(`/docs${path}`);
    expect(answer.status).to.equal(200);
    expect(answer.headers.get("cache-control")).to.equal("public, max-age=300");
    expect((await get("/docs/assets/none.0123456789ab.js")).status).to.equal(404);
  });

  it("pages allow scripts and requests of their own origin only; the reference also inline styles", async () => {
    const policyOf = async (path: string) =>
      (await get(path)).headers.get("content-security-policy") ?? "";
    const guide = await policyOf("/docs/guides/quickstart");
    const reference = await policyOf("/docs/reference");
    for (const policy of [guide, reference]) {
      expect(policy).to.contain("default-src 'none'; script-src 'self'; ");
      expect(policy).to.contain("connect-src 'self'; ");
      expect(policy).to.not.match(/unsafe-eval|https?:|\*/);
    }
    expect(guide).to.not.contain("unsafe-inline");
    expect(reference).to.match(/style-src 'self' 'unsafe-inline'$/);
  });

  it("HEAD answers like GET, OPTIONS names the methods, and others are 405", async () => {
    const head = await get("/docs/guides/money", {}, "HEAD");
    expect([head.status, await head.text()]).to.deep.equal([200, ""]);
    const options = await get("/docs/guides/money", {}, "OPTIONS");
    expect([options.status, options.headers.get("allow")]).to.deep.equal([
      204,
      "GET, HEAD, OPTIONS",
    ]);
    const post = await get("/docs/guides/money", {}, "POST");
    expect(post.status).to.equal(405);
    expect(await post.json()).to.include({ code: "method_not_allowed" });
  });

  it("a browser that asks for an unknown page gets a page with links; its policy is that of pages", async () => {
    for (const path of ["/nothing", "/docs/nothing", "/docs/guides/nothing/at/all"]) {
      const answer = await get(path, { accept: BROWSER });
      const text = await answer.text();
      expect(answer.status, path).to.equal(404);
      expect(answer.headers.get("content-type")).to.equal("text/html; charset=utf-8");
      expect(answer.headers.get("content-security-policy")).to.contain("script-src 'self'");
      expect(answer.headers.get("cache-control")).to.equal("no-store");
      expect(text).to.contain("Page not found").and.to.contain('href="/docs/guides/quickstart"');
    }
  });

  it("callers of the API get a problem for an unknown path, and so does everyone below /v1/", async () => {
    for (const [path, accept, status] of [
      ["/nothing", "*/*", 404],
      ["/docs/nothing", "application/json", 404],
      ["/nothing", "text/plain, */*", 404],
      ["/v1/nothing", BROWSER, 401],
    ] as const) {
      const answer = await get(path, { accept });
      expect(answer.status, path).to.equal(status);
      expect(answer.headers.get("content-type")).to.equal("application/problem+json");
    }
    const posted = await get("/nothing", { accept: BROWSER }, "POST");
    expect(posted.headers.get("content-type")).to.equal("application/problem+json");
  });

  async function assetPath(name: string): Promise<string> {
    const text = await (await get("/docs/reference")).text();
    const [base, extension] = name.split(".");
    return new RegExp(`/assets/${base}\\.[0-9a-f]{12}\\.${extension}`).exec(text)?.[0] ?? "";
  }

  /** The body as it came, undecoded. */
  async function bytes(path: string, encoding: string, headers: Record<string, string> = {}) {
    return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
      (resolve, reject) => {
        const sent = request(`${app.url}${path}`, {
          headers: { "accept-encoding": encoding, ...headers },
        });
        sent.on("error", reject);
        sent.on("response", async (response) => {
          const chunks: Buffer[] = [];
          for await (const chunk of response) chunks.push(chunk as Buffer);
          const status = response.statusCode ?? 0;
          resolve({ status, headers: response.headers, body: Buffer.concat(chunks) });
        });
        sent.end();
      },
    );
  }
});
