import { expect } from "chai";
import { AppError } from "../../../services/shared/core/errors.ts";
import { SCOPES } from "../../../services/shared/core/scopes.ts";
import {
  createApiKey,
  createApiKeyFor,
  hashSecret,
  hintOf,
  isGood,
  newSecret,
} from "../../../services/tenant/domain/api-key.ts";
import { changeTenant, createTenant } from "../../../services/tenant/domain/tenant.ts";

function fieldsOf(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    expect(error).to.be.instanceOf(AppError);
    return (error as AppError).fields.map(({ field }) => field);
  }
  return [];
}

describe("a tenant", () => {
  it("starts with the default limits", () => {
    const tenant = createTenant("ten_1", { name: "Acme" }, 5);
    expect(tenant).to.include({
      rateLimit: 50,
      burst: 100,
      bulkMax: 1000,
      currency: "NGN",
      isEmailVerified: true,
      isSuspended: false,
    });
  });

  it("is refused with every invalid field named", () => {
    const wrong = { name: "", currency: "naira", plan: "A B", rateLimit: 0, burst: -1, bulkMax: 0 };
    expect(fieldsOf(() => createTenant("ten_1", wrong, 0))).to.have.members([
      "name",
      "currency",
      "plan",
      "rate_limit",
      "burst",
      "bulk_max",
    ]);
    expect(fieldsOf(() => createTenant("ten_1", { name: "ten_x" }, 0))).to.deep.equal(["name"]);
  });

  it("keeps the fields that a change does not name", () => {
    const tenant = createTenant("ten_1", { name: "Acme", rateLimit: 10 }, 0);
    const changed = changeTenant(tenant, { isSuspended: true }, 9);
    expect(changed).to.deep.equal({ ...tenant, isSuspended: true, updatedAtMs: 9 });
  });
});

describe("an API key", () => {
  const make = (scopes: string[], allowedNetworks: string[]) =>
    createApiKey({
      id: "key_1",
      tenantId: "ten_1",
      mode: "live",
      scopes,
      allowedNetworks,
      nowMs: 0,
    });

  it("is refused with few errors when its lists are very long", () => {
    const many = Array.from({ length: 100_000 }, (_, at) => `no-${at}`);
    expect(fieldsOf(() => make(many, many)).length).to.be.below(200);
    expect(fieldsOf(() => make(many, []))).to.include("scopes");
  });

  it("has every scope when none is named", () => {
    expect(make([], []).scopes).to.deep.equal([...SCOPES]);
  });

  it("with unknown scopes or malformed networks is refused", () => {
    expect(fieldsOf(() => make(["messages:delete"], []))).to.deep.equal(["scopes"]);
    for (const network of [
      "10.0.0.0/33",
      "300.1.1.1",
      "x",
      "::/129",
      "010.0.0.1",
      "10/8",
      "256",
      "fe80::1%eth0",
    ]) {
      expect(
        fieldsOf(() => make([], [network])),
        network,
      ).to.deep.equal(["allowed_networks"]);
    }
    expect(make([], ["10.0.0.0/8", "2001:db8::/32", "192.0.2.1"]).allowedNetworks).to.have.length(
      3,
    );
  });

  it("made by another has at least one scope and none that its maker lacks, and the maker's mode", () => {
    const maker = make(["keys:manage", "balance:read"], []);
    const issue = (scopes: string[], mode: "live" | "test" = "live") => {
      const wanted = {
        id: "key_2",
        tenantId: "ten_1",
        mode,
        scopes,
        allowedNetworks: [],
        nowMs: 0,
      };
      return createApiKeyFor(maker, wanted, "hint");
    };
    expect(issue(["balance:read"]).scopes).to.deep.equal(["balance:read"]);
    expect(fieldsOf(() => issue([]))).to.deep.equal(["scopes"]);
    expect(fieldsOf(() => issue(["messages:send", "balance:read"]))).to.deep.equal(["scopes"]);
    expect(fieldsOf(() => issue(["messages:send"], "test"))).to.deep.equal(["mode", "scopes"]);
  });

  it("is valid until it expires or is revoked, and expires between a minute and ten years from now", () => {
    const key = make([], []);
    expect(isGood(key, 1e15)).to.equal(true);
    expect(isGood({ ...key, revokedAtMs: 5 }, 0)).to.equal(false);
    expect(isGood({ ...key, expiresAtMs: 5 }, 4)).to.equal(true);
    expect(isGood({ ...key, expiresAtMs: 5 }, 5)).to.equal(false);
    const until = (expiresAtMs: number) =>
      createApiKey({ ...key, scopes: [], expiresAtMs, nowMs: 0 }).expiresAtMs;
    expect(until(60_000)).to.equal(60_000);
    expect(fieldsOf(() => until(59_999))).to.deep.equal(["expires_at"]);
    expect(fieldsOf(() => until(11 * 366 * 86_400_000))).to.deep.equal(["expires_at"]);
  });

  it("is recognised by the last four characters of its secret", () => {
    expect(hintOf("sk_live_abcdef")).to.equal("cdef");
  });

  it("has a secret of the documented form, and a hash of it", () => {
    expect(newSecret("live")).to.match(/^sk_live_[A-Za-z0-9_-]{43}$/);
    expect(newSecret("test")).to.match(/^sk_test_[A-Za-z0-9_-]{43}$/);
    expect(newSecret("live")).not.to.equal(newSecret("live"));
    expect(hashSecret("abc").toString("hex")).to.match(/^ba7816bf/);
  });
});
