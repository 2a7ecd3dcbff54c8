/** `docs/contract.md#sender-ids`: a customer requests a name, an operator reviews it, and it can be sent from. */
import { expect } from "chai";
import { SenderIdReview } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { eventually } from "../../support/poll.ts";
import type { RestCall } from "../../support/rest.ts";
import { useRestSuite } from "../../support/rest-suite.ts";

const PATH = "/v1/sender-ids";
const ASKED = {
  name: "Acme Shop",
  use_case: "Order updates for customers",
  sample: "Your order 1001 has left our store.",
} as const;

describe("REST: requests of sender IDs", function () {
  this.timeout(30_000);
  const { rest, customer, call } = useRestSuite({ perTest: true });

  const ask = (body: object = ASKED, options: RestCall = {}) =>
    call("POST", PATH, { body, ...options });
  const review = (idOrName: string, action: SenderIdReview, reason = "") =>
    rest.senderIds.reviewSenderId({
      ...{ tenantId: customer.tenantId, idOrName, review: action, reason },
    });

  it("a requested name is pending, and can be sent from once it is approved", async () => {
    const answer = await ask();
    expect(answer.status, answer.text).to.equal(201);
    const made = answer.body.data;
    expect(made).to.deep.include({ ...ASKED, status: "pending", usable: false });
    expect((await call("GET", `${PATH}?status=pending`)).body.data).to.deep.equal([made]);
    const send = () =>
      call("POST", "/v1/sms/messages", {
        body: { to: "08031234567", from: "acme shop", body: "Hi" },
      });
    expect((await send()).body.code).to.equal("sender_id_not_approved");
    await review(made.id, SenderIdReview.APPROVE);
    await eventually(async () => (await send()).status === 202, { timeoutMs: 6000 });
    const [approved] = (await call("GET", `${PATH}?name=acme+shop`)).body.data;
    expect(approved).to.deep.include({ ...ASKED, status: "approved", usable: true });
  });

  it("operators see the use case and the sample", async () => {
    await ask();
    const { tenantId } = customer;
    const { senderIds } = await rest.senderIds.listSenderIds({ tenantId, name: ASKED.name });
    expect(senderIds[0]).to.include({ useCase: ASKED.use_case, sample: ASKED.sample });
  });

  it("a name has one open request; a rejected one may be requested again", async () => {
    const { id } = (await ask()).body.data;
    const again = await ask({ ...ASKED, name: "ACME SHOP" });
    expect([again.status, again.body.code]).to.deep.equal([409, "already_exists"]);
    await review(id, SenderIdReview.REJECT, "say more");
    const [rejected] = (await call("GET", `${PATH}?status=rejected`)).body.data;
    expect(rejected).to.include({ id, rejection_reason: "say more" });
    const second = await ask({ ...ASKED, use_case: "Much more" });
    expect(second.status, second.text).to.equal(201);
    expect(second.body.data).to.include({ id, status: "pending", rejection_reason: null });
    await review(id, SenderIdReview.APPROVE);
    expect((await ask()).body.code).to.equal("already_exists");
  });

  it("at most ten requests wait, also when they come at once", async () => {
    const asked = Array.from({ length: 14 }, (_, at) => ask({ ...ASKED, name: `Name ${at}` }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status).sort();
    expect(statuses).to.deep.equal([...Array(10).fill(201), ...Array(4).fill(422)]);
  });

  it("all faults are named together", async () => {
    const refused = await ask({ name: " ab", use_case: "", colour: "red" });
    expect(refused.status).to.equal(422);
    const fields = refused.body.errors.map(({ field }: { field: string }) => field).sort();
    expect(fields).to.deep.equal(["colour", "sample", "use_case"]);
    const wrong = await ask({ ...ASKED, name: "Ümlaut", use_case: "   " });
    expect(wrong.body.errors.map(({ field }: { field: string }) => field)).to.deep.equal([
      ...["name", "use_case"],
    ]);
  });

  it("a repeat under an idempotency key returns the first answer", async () => {
    const first = await ask(ASKED, { key: "ask-once" });
    const second = await ask(ASKED, { key: "ask-once" });
    expect(second.status, second.text).to.equal(201);
    expect(second.headers.get("idempotent-replayed")).to.equal("true");
    expect(second.body.data).to.deep.equal(first.body.data);
    const other = await ask({ ...ASKED, name: "Other" }, { key: "ask-once" });
    expect(other.body.code).to.equal("idempotency_key_reused");
  });
});
