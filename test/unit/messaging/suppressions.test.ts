import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect } from "chai";
import {
  type GetSuppressionTableResponse,
  GetSuppressionTableResponseSchema,
} from "../../../proto/gen/sms/v1/consent_pb.js";
import { createSuppressions } from "../../../services/messaging/adapters/suppressions.ts";
import { findOptOuts } from "../../../services/messaging/app/opt-outs.ts";
import type { TrafficClass } from "../../../services/shared/core/traffic-class.ts";

const TENANT = "ten_01ARZ3NDEKTSV4RRFFQ69G5FAV";
const OUT = "+2348031234567";

describe("opt-outs as messaging knows them", () => {
  let nowMs: number;
  let failure: Code | undefined;
  let version: bigint;
  let numbers: string[];
  let asked: bigint[];
  let errors: number;
  let suppressions: ReturnType<typeof createSuppressions>;

  beforeEach(() => {
    nowMs = 1_000_000;
    failure = undefined;
    version = 1n;
    numbers = [OUT];
    asked = [];
    errors = 0;
    const answer = async ({ knownVersion = -1n }): Promise<GetSuppressionTableResponse> => {
      if (failure !== undefined) throw new ConnectError("no answer", failure);
      asked.push(knownVersion);
      const isKnown = knownVersion === version;
      return create(GetSuppressionTableResponseSchema, {
        version,
        unchanged: isKnown,
        numbers: isKnown ? [] : numbers.map((number) => ({ number, sender: "" })),
      });
    };
    suppressions = createSuppressions(
      { getSuppressionTable: answer } as never,
      { now: () => nowMs },
      {
        error() {
          errors += 1;
        },
      },
    );
  });

  const services = () => ({
    suppressions: suppressions.table,
    checkSuppressed: suppressions.check,
  });

  /** The verdict of a send to the number that has opted out. */
  async function verdict(trafficClass: TrafficClass): Promise<string> {
    const query = { tenantId: TENANT, sender: "Acme", trafficClass, numbers: [OUT] };
    try {
      const isOptedOut = await findOptOuts(services(), query);
      return isOptedOut(OUT) ? "blocked" : "goes";
    } catch {
      return "refused";
    }
  }

  async function verdicts(): Promise<string> {
    const [otp, transactional, promotional] = [
      await verdict("otp"),
      await verdict("transactional"),
      await verdict("promotional"),
    ];
    return `${otp} ${transactional} ${promotional}`;
  }

  const AGE_MS = 5000;
  /** The cached table, its age with the step of the clock, and the error since then. */
  for (const [what, isRead, laterMs, code, expected] of [
    ["in service, nothing cached", false, 0, undefined, "goes blocked blocked"],
    ["in service, an old table", true, 3_600_000, undefined, "goes blocked blocked"],
    ["away, nothing cached", false, 0, Code.Unavailable, "goes goes refused"],
    ["away, a fresh table", true, AGE_MS - 1, Code.Unavailable, "goes blocked blocked"],
    ["away, a table of 55 s", true, 55_000, Code.Unavailable, "goes blocked blocked"],
    ["too slow, a table of 55 s", true, 55_000, Code.DeadlineExceeded, "goes blocked blocked"],
    ["away, a table of more", true, 55_001, Code.Unavailable, "goes goes refused"],
    ["away, the clock set back", true, -10_000, Code.Unavailable, "goes goes refused"],
    ["with a defect, nothing cached", false, 0, Code.Internal, "goes goes refused"],
    ["with a defect, a table of 10 s", true, 10_000, Code.Internal, "goes goes refused"],
    ["refusing the caller", true, 10_000, Code.PermissionDenied, "goes goes refused"],
  ] as const) {
    it(`consent is ${what}: an OTP, a transactional, a promotional send: ${expected}`, async () => {
      if (isRead) await suppressions.table(TENANT);
      nowMs += laterMs;
      failure = code;
      expect(await verdicts()).to.equal(expected);
    });
  }

  it("no table serves longer than a minute after it was read", async () => {
    await suppressions.table(TENANT);
    failure = Code.Unavailable;
    nowMs += 55_000;
    expect(await verdict("promotional")).to.equal("blocked");
    // The cache keeps what it took up at 55 s for its own age.
    nowMs += AGE_MS - 1;
    expect(await verdict("promotional")).to.equal("blocked");
    nowMs += 1;
    expect(await verdict("promotional")).to.equal("refused");
  });

  it("an unchanged table is not sent again, and a hint causes a new read", async () => {
    await suppressions.table(TENANT);
    nowMs += AGE_MS;
    expect(await verdict("promotional")).to.equal("blocked");
    version = 2n;
    numbers = [];
    expect(await verdict("promotional")).to.equal("blocked");
    suppressions.forget(TENANT);
    expect(await verdict("promotional")).to.equal("goes");
    expect(asked).to.deep.equal([-1n, 1n, 1n]);
  });

  it("a defect is logged once a minute, an outage never", async () => {
    failure = Code.Unavailable;
    await verdicts();
    expect(errors).to.equal(0);
    failure = Code.Internal;
    await verdicts();
    await verdicts();
    expect(errors).to.equal(1);
    nowMs += 60_000;
    await verdicts();
    expect(errors).to.equal(2);
  });
});
