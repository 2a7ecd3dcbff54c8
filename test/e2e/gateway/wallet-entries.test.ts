/** `docs/contract.md#statement`: the statement as pages and as a file, on the real ledger. */
import { request } from "node:http";
import { expect } from "chai";
import { parseAmount } from "../../../services/shared/core/money.ts";
import { eventually } from "../../support/poll.ts";
import { useRestSuite } from "../../support/rest-suite.ts";

const PATH = "/v1/wallet/entries";
const CSV = { headers: { accept: "text/csv" } } as const;

type Line = { readonly [name: string]: string };

describe("REST: the statement", function () {
  this.timeout(60_000);
  const { rest, customer, call } = useRestSuite({ funds: 1_000_000n });

  before(async function () {
    this.timeout(120_000);
    const { tenantId, sender } = customer;
    const body = { from: sender, body: "Hello", to: ["08031110001", "08031110002", "08031110003"] };
    const sent = await call("POST", "/v1/sms/messages/bulk", { body });
    expect(sent.status, sent.text).to.equal(202);
    await rest.wallets.adjustWallet({
      ...{ tenantId, amount: -5000n, reference: "fix-1" },
      ...{ reason: "=a typing error, mended", actor: { name: "smsctl:ada" } },
    });
    await eventually(async () => (await call("GET", "/v1/balance")).body.data.held === "0.0000", {
      timeoutMs: 20_000,
      what: "the charges",
    });
  });

  const lines = async (query = ""): Promise<Line[]> =>
    (await call("GET", `${PATH}${query}`)).body.data;

  it("shows what changed the balance, newest first, each line with the balance after it", async () => {
    const all = await lines();
    expect(all.map(({ kind }) => kind).sort()).to.deep.equal([
      ...["adjustment", "charge", "charge", "charge", "top_up"],
    ]);
    const top = all.at(-1);
    expect(top).to.include({ kind: "top_up", amount: "100.0000", balance_after: "100.0000" });
    expect(top).to.include({ reference: "first", message_id: null, memo: null });
    let balance = 0n;
    for (const line of all.toReversed()) {
      balance += parseAmount(line.amount ?? "") ?? 0n;
      expect(line.balance_after, JSON.stringify(line)).to.equal(
        `${balance / 10_000n}.${String(balance % 10_000n).padStart(4, "0")}`,
      );
    }
    expect(all[0]?.balance_after).to.equal((await call("GET", "/v1/balance")).body.data.balance);
    const fixed = all.find(({ kind }) => kind === "adjustment");
    expect(fixed).to.include({
      ...{ amount: "-0.5000", reference: "fix-1", memo: "=a typing error, mended" },
    });
    expect(JSON.stringify(all), "operators are not named").to.not.contain("ada");
  });

  it("a charge names its message, and has the amount that the message shows", async () => {
    for (const charge of await lines("?kind=charge")) {
      const message = (await call("GET", `/v1/messages/${charge.message_id}`)).body.data;
      expect(charge.amount).to.equal(`-${message.amount}`);
    }
  });

  it("holds and releases are shown when asked for, as they change the available amount", async () => {
    const moved = await lines("?kind=hold&kind=release&kind=top_up&kind=charge&kind=adjustment");
    const hold = moved.find(({ kind }) => kind === "hold");
    expect(hold?.amount).to.match(/^-\d/);
    expect(hold?.reservation_id).to.match(/^rsv_/);
    const [newest] = moved;
    const balance = (await call("GET", "/v1/balance")).body.data;
    expect(newest?.available_after).to.equal(balance.available);
    expect(newest?.held_after).to.equal(balance.held);
  });

  it("pages have neither gaps nor repeats, also through rare kinds", async () => {
    for (const kinds of ["", "&kind=top_up&kind=adjustment", "&kind=hold"]) {
      const whole = await lines(`?limit=100${kinds}`);
      const seen: string[] = [];
      let cursor = "";
      do {
        const page = (await call("GET", `${PATH}?limit=1${kinds}${cursor}`)).body;
        seen.push(...page.data.map(({ id }: Line) => id));
        cursor = page.next_cursor === null ? "" : `&cursor=${page.next_cursor}`;
      } while (cursor !== "");
      expect(seen, kinds).to.deep.equal(whole.map(({ id }) => id));
    }
  });

  it("a range shows its lines, and wrong parameters are refused together", async () => {
    const [newest] = await lines();
    const at = encodeURIComponent(newest?.created_at ?? "");
    expect((await lines(`?created_after=${at}`))[0]).to.deep.equal(newest);
    const ids = (await lines(`?created_before=${at}`)).map(({ id }) => id);
    expect(ids).to.not.include(newest?.id);
    expect(await lines("?created_after=2020-01-01T00:00:00Z&created_before=2020-02-01T00:00:00Z"))
      .to.be.empty;
    const wrong = await call(
      "GET",
      `${PATH}?kind=gift&limit=0&created_after=2020-01-01T00:00:00Z&nonsense=1`,
    );
    expect(wrong.body.errors.map(({ field }: Line) => field).sort()).to.deep.equal([
      ...["created_before", "kind", "limit", "nonsense"],
    ]);
  });

  it("a cursor belongs to its filters and its account", async () => {
    const { next_cursor } = (await call("GET", `${PATH}?limit=1`)).body;
    const moved = await call("GET", `${PATH}?limit=1&kind=charge&cursor=${next_cursor}`);
    expect(moved.body.errors[0]).to.include({ field: "cursor" });
    const other = await rest.addCustomer();
    const foreign = await other.call("GET", `${PATH}?limit=1&cursor=${next_cursor}`);
    expect(foreign.status).to.equal(422);
  });

  it("a file has every line of the range, and runs nothing in a spreadsheet", async () => {
    const answer = await call("GET", PATH, CSV);
    expect(answer.headers.get("content-type")).to.contain("text/csv");
    const [header, ...rows] = answer.text.trimEnd().split("\r\n");
    expect(header).to.match(/^created_at,kind,amount,currency,balance_after/);
    const shown = await lines("?limit=100");
    // The campaign is the last column; these lines have none.
    expect(rows.map((row) => row.split(",").at(-2))).to.deep.equal(shown.map(({ id }) => id));
    expect(answer.text).to.contain(`"'=a typing error, mended"`);
    expect(answer.text).to.contain("-0.5000");
    const refused = await call("GET", `${PATH}?limit=5`, CSV);
    expect(refused.body.errors[0]).to.include({ field: "limit", code: "invalid_value" });
  });

  it("files of one account are written one after the other, and one whose client disconnects ends", async () => {
    const answers = await Promise.all([1, 2].map(() => call("GET", PATH, CSV)));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
    await leaveAtOnce(`${rest.stack.gateway}${PATH}`, customer.apiKey);
    expect((await call("GET", PATH, CSV)).status).to.equal(200);
    expect((await customer.call("HEAD", PATH, CSV)).status).to.equal(200);
    expect((await call("GET", PATH, CSV)).status).to.equal(200);
  });
});

/** Asks for a file, and ends the connection when the answer begins. */
function leaveAtOnce(url: string, apiKey: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { accept: "text/csv", authorization: `Bearer ${apiKey}` };
    const sent = request(url, { headers }, (response) => {
      response.destroy();
      resolve();
    });
    sent.on("error", reject);
    sent.end();
  });
}
