import { expect } from "chai";
import { AUDITED, READING, RECORDED } from "../../support/rpc-effects.ts";
import { allRpcMethods } from "../../support/rpc-methods.ts";

describe("the effects of RPCs", () => {
  it("every method reads, is audited or leaves its own record, and has one row", async () => {
    const methods = (await allRpcMethods()).map(({ name }) => name.replace("sms.v1.", ""));
    const rows = [...READING, ...AUDITED, ...Object.keys(RECORDED)];
    expect(rows.sort()).to.deep.equal(methods.sort());
  });

  it("every service with an audited method lists its trail", () => {
    const services = new Set(AUDITED.map((name) => name.split("/")[0]));
    const listing = READING.filter((name) => name.endsWith("/ListAuditRecords"));
    expect(new Set(listing.map((name) => name.split("/")[0]))).to.deep.equal(services);
  });
});
