import { expect } from "chai";
import { errorOf, type Fakes, run } from "../../support/smsctl-fakes.ts";

describe("smsctl audit", () => {
  const record = (id: string, more: object = {}) => ({
    ...{ id, method: "sms.v1.TenantService/UpdateTenant", caller: "smsctl" },
    ...{ actor: { name: "smsctl:ada", address: "host" }, tenantId: "ten_1", subject: "ten_1" },
    ...{ before: '{"suspended":false}', after: '{"suspended":true}', createdAtMs: 0n },
    ...more,
  });
  const asked: object[] = [];
  const answering = (...ids: string[]) => ({
    listAuditRecords(request: { limit: number; cursor: string; method: string }) {
      asked.push({ method: request.method, cursor: request.cursor });
      const all = ids.filter((id) => request.cursor === "" || id < request.cursor);
      const shown = all.slice(0, request.limit);
      return {
        records: shown.map((id) => record(id)),
        nextCursor: all.length > shown.length ? (shown.at(-1) ?? "") : "",
      };
    },
  });
  const services = (): Fakes => ({
    tenants: answering("aud_6", "aud_3"),
    senderIds: answering(),
    wallets: answering("aud_5", "aud_2"),
    routing: answering("aud_4"),
    messaging: answering(),
    webhooks: answering("aud_1"),
    campaigns: answering(),
    consent: answering(),
  });
  beforeEach(() => {
    asked.length = 0;
  });

  it("merges all trails, newest first, with the changed fields as values", async () => {
    const { result } = await run(["audit"], services());
    const rows = result as unknown as { id: string; before: object; after: object }[];
    expect(rows.map(({ id }) => id)).to.deep.equal(
      [6, 5, 4, 3, 2, 1].map((number) => `aud_${number}`),
    );
    expect(rows[0]).to.deep.include({ before: { suspended: false }, after: { suspended: true } });
  });

  it("pages through all trails with one cursor, without a gap or a repeat", async () => {
    const seen: string[] = [];
    for (const cursor of ["", "aud_5", "aud_3", "aud_1"]) {
      const words = ["audit", "--limit", "2", ...(cursor === "" ? [] : ["--cursor", cursor])];
      const { result } = await run(words, services());
      seen.push(...(result as unknown as { id: string }[]).map(({ id }) => id));
    }
    expect(seen).to.deep.equal([6, 5, 4, 3, 2, 1].map((number) => `aud_${number}`));
  });

  it("asks only the named services, for the method", async () => {
    const words = ["audit", "--service", "tenant,wallet", "--method", "UpdateTenant"];
    await run(words, services());
    expect(asked).to.deep.equal([
      { method: "UpdateTenant", cursor: "" },
      { method: "UpdateTenant", cursor: "" },
    ]);
  });

  it("refuses a service without a trail", async () => {
    const error = await errorOf(run(["audit", "--service", "carrier"], services()));
    expect(error.code).to.equal("validation_error");
  });
});
