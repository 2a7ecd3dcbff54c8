import { expect } from "chai";
import { checkCurrencies } from "../../../services/smsctl/check/currencies.ts";
import { checkOf, errorOf, type Fakes, refuse } from "../../support/smsctl-fakes.ts";

describe("smsctl check, of currencies", () => {
  /** The wallets' currencies by tenant; a tenant that is not among them has no wallet. */
  const WALLETS: Readonly<Record<string, string>> = { ten_1: "NGN", ten_3: "USD", ten_70: "KES" };
  const all = Array.from({ length: 70 }, (_, at) => ({ id: `ten_${at + 1}`, currency: "NGN" }));
  const services: Fakes = {
    tenants: {
      getTenant: ({ idOrName }) => ({ tenant: { id: idOrName, currency: "NGN" } }),
      listTenants: ({ cursor }) =>
        cursor === ""
          ? { tenants: all.slice(0, 40), nextCursor: "ten_40" }
          : { tenants: all.slice(40) },
    },
    wallets: {
      getWallet({ tenantId }) {
        const currency = WALLETS[tenantId];
        return currency === undefined ? refuse("not_found", "None.") : { wallet: { currency } };
      },
    },
  };

  it("names each wallet that is not in its tenant's, on every page", async () => {
    const { breaches, compared } = await checkCurrencies(checkOf(services));
    expect(breaches).to.deep.equal([
      { invariant: 2, what: "the wallet is in USD, its tenant in NGN", ids: ["ten_3"] },
      { invariant: 2, what: "the wallet is in KES, its tenant in NGN", ids: ["ten_70"] },
    ]);
    expect(compared).to.deep.equal({ tenants: 70 });
  });

  it("compares only the named tenant", async () => {
    const run = { ...checkOf(services), tenantId: "ten_70" };
    const { breaches, compared } = await checkCurrencies(run);
    expect(breaches.map(({ ids }) => ids)).to.deep.equal([["ten_70"]]);
    expect(compared).to.deep.equal({ tenants: 1 });
  });

  it("takes no failure for a tenant without a wallet", async () => {
    const wallets = { getWallet: () => refuse("internal_error", "Broken.") };
    const error = await errorOf(checkCurrencies(checkOf({ ...services, wallets })));
    expect(error.code).to.equal("internal_error");
  });

  it("retries while a service restarts", async () => {
    let asked = 0;
    const wallets = {
      getWallet() {
        asked += 1;
        return asked === 1
          ? refuse("service_unavailable", "Away.")
          : { wallet: { currency: "USD" } };
      },
    };
    const run = { ...checkOf({ ...services, wallets }), tenantId: "ten_1" };
    const { breaches } = await checkCurrencies(run);
    expect([asked, breaches.length]).to.deep.equal([2, 1]);
  });
});
