import { expect } from "chai";
import { createAuthenticator } from "../../../gateway/auth/authenticate.ts";
import type { Caller } from "../../../gateway/auth/caller.ts";
import { SESSION_COOKIE } from "../../../gateway/auth/session-cookie.ts";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import type { AppError } from "../../../services/shared/core/errors.ts";
import { isFromConsole } from "../../../services/shared/web/same-origin.ts";

const SECRET = `ses_${"a".repeat(43)}`;
const COOKIE = `__Host-sms_session=${SECRET}`;

describe("the cookie of a session", () => {
  for (const [header, wanted] of [
    [undefined, undefined],
    ["", undefined],
    [COOKIE, SECRET],
    [`theme=dark; ${COOKIE}; x=1`, SECRET],
    ["__Host-sms_session=", undefined],
    ["__Host-sms_session=ses_short", undefined],
    [`sms_session=${SECRET}`, undefined],
    [`X__Host-sms_session=${SECRET}`, undefined],
  ] as const) {
    it(`${header} has the secret ${wanted}`, () => {
      expect(SESSION_COOKIE.secretIn(header === undefined ? {} : { cookie: header })).to.equal(
        wanted,
      );
    });
  }

  it("cannot be read by scripts, sent by other sites or set by other hosts", () => {
    const cookie = SESSION_COOKIE.header(SECRET, 43_200_000);
    expect(cookie).to.equal(`${COOKIE}; Path=/; Max-Age=43200; Secure; HttpOnly; SameSite=Strict`);
    expect(SESSION_COOKIE.removal).to.match(/^__Host-sms_session=; Path=\/; Max-Age=0;/);
  });
});

describe("a request with a session's cookie", () => {
  const own = { host: "sms.example.com", origin: "https://sms.example.com", "sms-console": "1" };
  for (const [why, method, headers, wanted] of [
    ["a read", "GET", { host: "sms.example.com" }, true],
    ["a read of the same origin", "GET", { ...own, "sec-fetch-site": "same-origin" }, true],
    ["a read that another site embeds", "GET", { ...own, "sec-fetch-site": "cross-site" }, false],
    ["a read of a neighbouring host", "GET", { ...own, "sec-fetch-site": "same-site" }, false],
    ["a change by the console", "POST", own, true],
    ["a change by the public origin", "POST", { ...own, host: "inside:8080" }, true],
    ["a change without the header", "POST", { ...own, "sms-console": undefined }, false],
    ["a change without an origin", "DELETE", { ...own, origin: undefined }, false],
    ["a change by another origin", "PATCH", { ...own, origin: "https://evil.example" }, false],
    ["a change by a sandboxed page", "POST", { ...own, origin: "null" }, false],
    ["a change by another port", "POST", { ...own, origin: "https://sms.example.com:8443" }, false],
  ] as const) {
    it(`${why} is ${wanted ? "from the console" : "refused"}`, () => {
      expect(isFromConsole(method, headers, "https://sms.example.com")).to.equal(wanted);
    });
  }
});

describe("a caller with a session", () => {
  const caller = { tenantId: "ten_1", mode: Mode.LIVE } as Caller;
  const { authenticate } = createAuthenticator({
    keys: { find: () => undefined },
    sessions: { find: (secret) => (secret === SECRET ? caller : undefined) },
    ownOrigin: "",
  });
  const ask = (headers: Record<string, string>, method = "GET") =>
    authenticate({ method, headers, authorization: headers.authorization }).catch(
      (error: AppError) => error.code,
    );

  it("is found by its cookie, in the mode that the request names", async () => {
    expect(await ask({ cookie: COOKIE })).to.include({ mode: Mode.LIVE });
    expect(await ask({ cookie: COOKIE, "sms-mode": "test" })).to.include({ mode: Mode.TEST });
  });

  it("a session cookie is not read when there is an API key", async () => {
    expect(await ask({ cookie: COOKIE, authorization: "Bearer no" })).to.equal("unauthenticated");
  });

  it("is refused on another site's page", async () => {
    expect(await ask({ cookie: COOKIE }, "POST")).to.equal("origin_not_allowed");
  });

  it("needs a session that is open", async () => {
    const other = `__Host-sms_session=ses_${"b".repeat(43)}`;
    expect(await ask({ cookie: other })).to.equal("unauthenticated");
  });
});
