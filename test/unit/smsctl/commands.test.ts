import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ServiceImpl } from "@connectrpc/connect";
import { expect } from "chai";
import type { MessagingService } from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import type { WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { errorOf, type Fakes, getTenant, refuse, run } from "../../support/smsctl-fakes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("smsctl key create and route add", () => {
  for (const option of ["--allow-ip=", "--scopes=,", "--scopes= , "]) {
    it(`${option} makes no key, which would be one without that limit`, async () => {
      const fakes = {
        tenants: { getTenant, createApiKey: () => refuse("internal_error", "made") },
      };
      const words = ["key", "create", "--tenant", "T", option];
      const error = await errorOf(run(words, fakes));
      expect(error.message).to.equal(`${option.split("=")[0]} must not be empty.`);
    });
  }

  it("an empty --tenants makes no route, which would be one for everybody", async () => {
    const fakes = { routing: { createRoute: () => refuse("internal_error", "made") } };
    const words = ["route", "add", "--name=N", "--connector=C", "--prices=1=1", "--tenants", ""];
    const error = await errorOf(run(words, fakes));
    expect(error.message).to.equal("--tenants must not be empty.");
  });
});

describe("smsctl route price", () => {
  const words = (prices: string) => ["route", "price", "main", "--prices", prices];

  it("sends the stated prices only, without reading the list", async () => {
    const asked: unknown[] = [];
    const updateRoute: ServiceImpl<typeof RoutingService>["updateRoute"] = (request) => {
      const prices = request.route?.prices.map(({ prefix, price }) => [prefix, price]);
      asked.push([request.idOrName, prices, request.fields]);
      return { route: {} };
    };
    await run(words("234=4.5,44=10"), { routing: { updateRoute } });
    const prices = [
      ["234", 45_000n],
      ["44", 100_000n],
    ];
    expect(asked).to.deep.equal([["main", prices, ["prices.set"]]]);
  });

  for (const prices of ["", ",", "234", "234=1=2", "234=-1"]) {
    it(`refuses --prices "${prices}"`, async () => {
      const error = await errorOf(run(words(prices), {}));
      expect(error.code).to.equal("validation_error");
    });
  }
});

describe("smsctl wallet fund and adjust", () => {
  const MOVES = {
    fund: { method: "fundWallet", words: ["--amount", "5"] },
    adjust: { method: "adjustWallet", words: ["--amount", "-5", "--reason", "R"] },
  } as const;

  for (const [verb, { method, words }] of Object.entries(MOVES)) {
    const all = ["wallet", verb, "--tenant", "T", ...words];

    for (const code of ["service_unavailable", "request_timeout", "internal_error"] as const) {
      it(`${verb}: ${code} names the reference that makes a repeat harmless`, async () => {
        let used = "";
        const fail = ({ reference }: { reference: string }) => {
          used = reference;
          return refuse(code, "Gone.", { extra: { other: "kept" } });
        };
        const error = await errorOf(run(all, { wallets: { [method]: fail } }));
        expect(used).to.match(/^req_/);
        expect(error).to.deep.include({ code, extra: { other: "kept", reference: used } });
        expect(error.message).to.include(`repeat with --reference ${used}.`);
      });
    }

    it(`${verb}: an empty reference, which would be no protection, is refused`, async () => {
      const error = await errorOf(run([...all, "--reference", ""], {}));
      expect(error.message).to.equal("--reference is required.");
    });

    it(`${verb}: a refusal stays as it is`, async () => {
      const fail = () => refuse("insufficient_balance", "Too little.");
      const error = await errorOf(run(all, { wallets: { [method]: fail } }));
      expect(error).to.deep.include({ message: "Too little.", extra: {} });
    });

    it(`${verb}: the result shows the reference, given or made`, async () => {
      const answer = { [method]: () => ({ wallet: { tenantId: "ten_1" } }) };
      const given = await run([...all, "--reference", "R1"], { wallets: answer });
      expect(given.result).to.include({ reference: "R1", replayed: false });
      expect(given.notes).to.deep.equal([]);
      const made = await run(all, { wallets: answer });
      expect(made.result.reference).to.match(/^req_/);
      expect(made.notes).to.deep.equal([`under --reference ${made.result.reference}`]);
    });
  }
});

describe("smsctl wallet entries and audit", () => {
  const ALL = Array.from({ length: 2500 }, (_, at) => ({ id: String(at) }));
  /** Pages of at most a thousand, as the wallet answers. */
  const page = ({ limit, cursor }: { limit: number; cursor: string }) => {
    const from = Number(cursor);
    const end = from + Math.min(limit, 1000);
    return { entries: ALL.slice(from, end), nextCursor: end < ALL.length ? String(end) : "" };
  };
  const wallets = { listEntries: page, listAuditEntries: page };

  for (const verb of ["entries", "audit"]) {
    const list = async (...words: string[]) => {
      const all = ["wallet", verb, "--tenant", "T", ...words];
      const { result, notes } = await run(all, { wallets });
      return { ids: (result as unknown as { id: string }[]).map(({ id }) => Number(id)), notes };
    };

    it(`${verb}: a limit beyond a page is kept, from the cursor on`, async () => {
      const { ids, notes } = await list("--limit", "1200", "--cursor", "100");
      expect(ids).to.have.length(1200);
      expect([ids[0], ids.at(-1)]).to.deep.equal([100, 1299]);
      expect(new Set(ids).size).to.equal(1200);
      expect(notes).to.deep.equal(["older ones: --cursor 1300"]);
    });

    it(`${verb}: the end is the end`, async () => {
      const { ids, notes } = await list("--limit", "5000");
      expect(ids).to.have.length(2500);
      expect(notes).to.deep.equal([]);
    });

    it(`${verb}: a limit of nothing is refused`, async () => {
      expect((await errorOf(list("--limit", "0"))).message).to.include("--limit");
    });
  }
});

describe("smsctl wallet entries --csv", () => {
  const page = (cursor: string) => ({ entries: [{ id: "led_1" }], nextCursor: cursor });
  const file = () => join(temporaryFolder("smsctl"), "statement.csv");
  const words = (path: string) => ["wallet", "entries", "--tenant", "T", "--csv", path];
  const write = (path: string, wallets: Fakes["wallets"], ...more: string[]) =>
    run([...words(path), ...more], { ...(wallets && { wallets }) });

  it("writes every page, and refuses to write over a file", async () => {
    const path = file();
    const listEntries = ({ cursor }: { cursor: string }) => page(cursor === "" ? "2" : "");
    const { result } = await write(path, { listEntries });
    expect(result).to.deep.equal({ file: path, entries: 2 });
    expect(readFileSync(path, "utf8").split("\r\n")).to.have.length(4);
    const error = await errorOf(write(path, { listEntries }));
    expect(error.message).to.equal(`${path} cannot be written: it exists`);
  });

  it("leaves nothing behind when a page fails", async () => {
    const path = file();
    const listEntries = ({ cursor }: { cursor: string }) =>
      cursor === "" ? page("2") : refuse("service_unavailable", "Away.");
    await errorOf(write(path, { listEntries }));
    expect(readdirSync(dirname(path))).to.deep.equal([]);
  });

  it("refuses a limit, which would be ignored", async () => {
    const error = await errorOf(write(file(), {}, "--limit", "5"));
    expect(error.message).to.include("--limit");
  });
});

describe("smsctl route import", () => {
  it("route import counts its changes", async () => {
    const path = join(temporaryFolder("smsctl"), "prices.csv");
    writeFileSync(path, "prefix,price\n1,2\n");
    const changes = [
      { prefix: "1", added: true },
      { prefix: "2", removed: true },
      { prefix: "3" },
      { prefix: "4", removed: true },
    ];
    const words = ["route", "import", "R", "--csv", path, "--dry-run"];
    const { notes } = await run(words, {
      routing: { importPrices: () => ({ changes, applied: false }) },
    });
    expect(notes).to.deep.equal(["would be added: 1, changed: 1, removed: 2"]);
  });
});

describe("smsctl lists beyond a page", () => {
  const idOf = (at: number) => `id_${String(at).padStart(4, "0")}`;
  const ALL = Array.from({ length: 2500 }, (_, at) => ({ id: idOf(at) }));
  /** The entries after an id: at most `limit`; a limit above `max` is an error. */
  const pageAfter = (all: { id: string }[], id: string, limit: number, max: number) => {
    if (limit > max) refuse("validation_error", "The limit is out of range.");
    const rest = all.filter((one) => id === "" || one.id > id);
    return { items: rest.slice(0, limit), hasMore: rest.length > limit };
  };
  /** Of every six letters the first is the wallet's, the fourth the campaign service's. */
  const letters = (isMine: (at: number) => boolean) => {
    const mine = ALL.filter((_, at) => isMine(at));
    return ({ cursor, limit }: { cursor: string; limit: number }) => {
      const { items, hasMore } = pageAfter(mine, cursor, limit, 1000);
      return { deadLetters: items, nextCursor: hasMore ? (items.at(-1)?.id ?? "") : "" };
    };
  };
  const fakes: Fakes = {
    messaging: {
      listMessages({ beforeId, limit }) {
        const { items, hasMore } = pageAfter(ALL, beforeId, limit, 1000);
        return { messages: items, hasMore };
      },
    },
    webhooks: {
      listDeliveries({ beforeId, limit }) {
        const { items, hasMore } = pageAfter(ALL, beforeId, limit, 100);
        return { deliveries: items, hasMore };
      },
      listDeadLetters: letters((at) => at % 3 !== 0),
    },
    wallets: { listDeadLetters: letters((at) => at % 6 === 0) },
    campaigns: { listDeadLetters: letters((at) => at % 6 === 3) },
  };
  for (const words of [
    ["message", "list", "--tenant", "T"],
    ["webhook", "deliveries", "whe_1", "--tenant", "T"],
    ["dead", "list"],
  ]) {
    it(`${words.slice(0, 2).join(" ")}: each once, from the cursor on, up to the limit`, async () => {
      const all = [...words, "--limit", "1200", "--cursor", idOf(99)];
      const { result, notes } = await run(all, fakes);
      const ids = (result as unknown as { id: string }[]).map(({ id }) => id);
      expect(ids).to.deep.equal(ALL.slice(100, 1300).map(({ id }) => id));
      expect(notes.join()).to.include(`--cursor ${idOf(1299)}`);
      const rest = await run([...words, "--limit", "9999"], fakes);
      expect(rest.result).to.have.length(2500);
      expect(rest.notes).to.deep.equal([]);
    });
  }
});

describe("smsctl message cancel-campaign", () => {
  const words = (campaign: string) => [
    ...["message", "cancel-campaign", campaign],
    ...["--tenant", "Ada"],
  ];
  const campaignId = newId("campaign");

  it("cancels the named tenant's campaign, and says how many messages were past it", async () => {
    const asked: unknown[] = [];
    const cancelCampaign: ServiceImpl<typeof MessagingService>["cancelCampaign"] = (request) => {
      asked.push([request.tenantId, request.campaignId]);
      return { cancelled: 3n, unchanged: 2n };
    };
    const fakes = { messaging: { cancelCampaign } };
    const { code, result } = await run(words(campaignId), fakes);
    expect(asked).to.deep.equal([["ten_1", campaignId]]);
    expect({ code, result }).to.deep.equal({
      code: 0,
      result: { campaign_id: campaignId, cancelled: 3, unchanged: 2 },
    });
  });

  for (const word of ["", newId("message"), campaignId.toLowerCase()]) {
    it(`refuses "${word.slice(0, 4)}", which names no campaign, before any request`, async () => {
      const fakes = { messaging: { cancelCampaign: () => refuse("internal_error", "asked") } };
      const error = await errorOf(run(words(word), fakes));
      expect(error).to.include({
        code: "validation_error",
        message: `${word} is no campaign's id (cmp_…).`,
      });
    });
  }
});

describe("smsctl tenant create", () => {
  const words = ["tenant", "create", "--name", "Ada"];
  const exists = () => refuse("already_exists", "There is one.");
  const noWallet = () => refuse("not_found", "No such wallet.");

  it("refuses a negative --low-balance before anything is made", async () => {
    const all = [...words, "--low-balance", "-1"];
    const error = await errorOf(run(all, {}));
    expect(error).to.include({
      code: "validation_error",
      message: "--low-balance must not be negative.",
    });
  });

  it("tenant create creates the wallet of a tenant without one, and says so", async () => {
    const made: string[] = [];
    const createWallet: ServiceImpl<typeof WalletService>["createWallet"] = (request) => {
      made.push(`${request.tenantId} ${request.currency} ${request.lowBalanceThreshold}`);
      return {};
    };
    const { code, result } = await run([...words, "--low-balance", "2"], {
      tenants: { createTenant: exists, getTenant },
      wallets: { getWallet: noWallet, createWallet },
    });
    expect(code).to.equal(0);
    expect(result).to.include({ id: "ten_1", existed: true });
    expect(made).to.deep.equal(["ten_1 NGN 20000"]);
  });

  it("is refused when the tenant has its wallet", async () => {
    const fakes = {
      tenants: { createTenant: exists, getTenant },
      wallets: { getWallet: () => ({ wallet: { tenantId: "ten_1" } }) },
    };
    const error = await errorOf(run(words, fakes));
    expect(error).to.include({ code: "already_exists", message: "There is one." });
  });
});
