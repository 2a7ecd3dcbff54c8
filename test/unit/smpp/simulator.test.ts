import { expect } from "chai";
import { decodePdu, encodePdu } from "../../../services/shared/smpp/codec.ts";
import type { OutgoingPdu, PduOf } from "../../../services/shared/smpp/pdu.ts";
import { planSubmit } from "../../../services/shared/smpp/test-numbers.ts";
import { Counters } from "../../../services/smsc-simulator/app/counters.ts";
import type { Deliveries } from "../../../services/smsc-simulator/app/deliveries.ts";
import { MessageStore } from "../../../services/smsc-simulator/app/message-store.ts";
import type { Peer } from "../../../services/smsc-simulator/app/sessions.ts";
import { Submits } from "../../../services/smsc-simulator/app/submits.ts";
import { BehaviourSwitch } from "../../../services/smsc-simulator/domain/behaviour.ts";
import {
  MESSAGE_NAME_TAG,
  submitIdentity,
} from "../../../services/smsc-simulator/domain/deduplicate.ts";
import {
  arriving,
  messagesOf,
  parseHandsetMessage,
} from "../../../services/smsc-simulator/domain/handset-message.ts";
import { sampleLatency, seededRandom } from "../../../services/smsc-simulator/domain/latency.ts";
import {
  ControlError,
  parseBehaviour,
} from "../../../services/smsc-simulator/domain/parse-behaviour.ts";
import { SlidingRate } from "../../../services/smsc-simulator/domain/sliding-rate.ts";
import { readSettings } from "../../../services/smsc-simulator/start.ts";
import { eventually } from "../../support/poll.ts";

type Submit = Partial<OutgoingPdu<"submit_sm">>;

function identityOf({ body, tlvs }: Submit): string {
  const octets = encodePdu({
    command: "submit_sm",
    sequence: 1,
    body: body ?? {},
    tlvs: tlvs ?? {},
  });
  return submitIdentity(decodePdu(octets, 0, octets.length) as PduOf<"submit_sm">);
}

describe("messages from handsets", () => {
  const BODY = { source: "+2348031600098", destination: "2442", text: "Hi {n}" };
  const burst = (more: object) => [...messagesOf(parseHandsetMessage({ ...BODY, ...more }))];

  it("are one without a count", () => {
    expect(burst({})).to.deep.equal([{ source: BODY.source, text: "Hi 0", afterMs: 0 }]);
  });

  it("come from consecutive numbers at an even rate, and begin again with the first number", () => {
    expect(burst({ count: 4, handsets: 3, rate_per_second: 2 })).to.deep.equal([
      { source: "+2348031600098", text: "Hi 0", afterMs: 0 },
      { source: "+2348031600099", text: "Hi 1", afterMs: 500 },
      { source: "+2348031600100", text: "Hi 2", afterMs: 1000 },
      { source: "+2348031600098", text: "Hi 3", afterMs: 1500 },
    ]);
  });

  it("arrive in the parts that are named, in their order", () => {
    expect(arriving(["a", "b", "c"], undefined)).to.deep.equal(["a", "b", "c"]);
    expect(arriving(["a", "b", "c"], [3, 1, 1, 9])).to.deep.equal(["c", "a", "a"]);
  });

  for (const [what, wrong] of [
    ["an unknown member", { burst: 2 }],
    ["text outside of its alphabet", { text: "Ж", encoding: "latin1" }],
    ["no whole count", { count: 1.5 }],
    ["too many messages", { count: 1_000_000 }],
    ["part 0", { parts: [0] }],
    ["no parts", { parts: [] }],
    ["another way of joining", { concatenation: "none" }],
    ["an address that is no URL", { url: "carrier" }],
  ] as const) {
    it(`with ${what} are refused`, () => {
      expect(() => parseHandsetMessage({ ...BODY, ...wrong })).to.throw(ControlError);
    });
  }
});

describe("test numbers", () => {
  const number = (digits: string) => `23480312${digits}`;
  const ROWS: [string, number, number, string, string][] = [
    ["0000", 1, 0, "accept", "1000 delivered none as_answered"],
    ["9901", 1, 0, "accept", "1000 undelivered absent_subscriber as_answered"],
    ["9902", 1, 0, "accept", "1000 undelivered unknown_subscriber as_answered"],
    ["9903", 1, 0, "invalid_destination", ""],
    ["9904", 1, 0, "throttled", ""],
    ["9904", 2, 0, "throttled", ""],
    ["9904", 3, 0, "accept", "1000 delivered none as_answered"],
    ["9905", 1, 0, "accept", ""],
    [
      "9906",
      1,
      0,
      "accept",
      "1000 undelivered absent_subscriber as_answered, 3000 delivered none as_answered",
    ],
    ["9907", 1, 0, "accept", "0 delivered none as_answered"],
    ["9908", 1, 0, "none", "3000 delivered none as_answered"],
    ["9909", 1, 0, "none", ""],
    ["9910", 1, 0, "accept", "1000 expired validity_expired as_answered"],
    ["9911", 1, 0, "drop_link", ""],
    ["9911", 9, 0, "drop_link", ""],
    ["9912", 1, 0, "system_error", ""],
    ["9912", 2, 0, "accept", "1000 delivered none as_answered"],
    ["9913", 1, 0, "queue_full", ""],
    ["9913", 9, 4999, "queue_full", ""],
    ["9913", 9, 5000, "accept", "1000 delivered none as_answered"],
    [
      "9914",
      1,
      0,
      "accept",
      "1000 delivered none as_answered, 1100 delivered none as_answered, 1200 delivered none as_answered",
    ],
    ["9916", 1, 0, "dnd", ""],
    ["9915", 1, 0, "accept", "1000 delivered none decimal"],
  ];
  for (const [digits, count, sinceFirstMs, answer, receipts] of ROWS) {
    it(`${digits}, submit ${count} after ${sinceFirstMs} ms: ${answer}; ${receipts || "no receipt"}`, () => {
      const plan = planSubmit(number(digits), count, sinceFirstMs);
      expect(plan.answer.kind === "refuse" ? plan.answer.reason : plan.answer.kind).to.equal(
        answer,
      );
      const said = plan.receipts.map((r) => `${r.afterMs} ${r.state} ${r.error} ${r.idForm}`);
      expect(said.join(", ")).to.equal(receipts);
    });
  }
  it("9907 sends its receipt before its answer", () => {
    const { answer, receipts } = planSubmit(number("9907"), 1, 0);
    expect(answer)
      .to.have.property("afterMs")
      .above(receipts[0]?.afterMs ?? Number.NaN);
  });
});

describe("duplicate counter", () => {
  const submit = (counters: Counters, identity: string, isRefused: boolean) =>
    counters.countSubmit("234", counters.see(identity, 0), isRefused);

  it("a submit after an accepted one counts as a duplicate, and one after refusals does not", () => {
    const counters = new Counters();
    submit(counters, "a", true);
    submit(counters, "a", true);
    submit(counters, "a", false);
    expect(counters.snapshot().submits).to.deep.equal({
      "234": { total: 3, refused: 2, duplicates: 0 },
    });
    submit(counters, "a", true);
    submit(counters, "b", false);
    expect(counters.snapshot().submits).to.deep.equal({
      "234": { total: 5, refused: 3, duplicates: 1 },
    });
    expect(counters.snapshot()).to.deep.include({ total: 5, refused: 3, duplicates: 1 });
  });

  it("parts are counted by their receipts, and a late delivery counts as both", () => {
    const counters = new Counters();
    counters.report("234", ["delivered"]);
    counters.report("234", ["undelivered", "delivered"]);
    counters.report("234", ["delivered", "delivered", "delivered"]);
    counters.report("235", []);
    expect(counters.snapshot().reported).to.deep.equal({
      "234": { delivered: 3, failed: 1, late: 1 },
    });
    counters.reset();
    expect(counters.snapshot().reported).to.deep.equal({});
  });

  it("the counters stay within their bounds for any number of recipients and messages", () => {
    const counters = new Counters({ destinationsMax: 3, identitiesMax: 3 });
    for (let i = 0; i < 10; i++) counters.countSubmit(`n${i}`, counters.see(`m${i}`, 0), false);
    expect(Object.keys(counters.snapshot().submits)).to.deep.equal(["n7", "n8", "n9"]);
    expect(counters.see("m9", 0).count).to.equal(2);
    expect(counters.see("m0", 0).count).to.equal(1);
  });

  const text = Buffer.from("hello");
  const named = (name: string) => ({
    other: [{ tag: MESSAGE_NAME_TAG, value: Buffer.from(name) }],
  });
  const part = (reference: number, sequence: number) =>
    Buffer.concat([Buffer.from([5, 0, 3, reference, 2, sequence]), text]);
  const to = { destinationAddr: "234", sourceAddr: "A" };
  const PAIRS: [string, Submit, Submit, boolean][] = [
    [
      "two submits with the same octets",
      { body: { ...to, shortMessage: text } },
      { body: { ...to, shortMessage: text } },
      true,
    ],
    [
      "other text",
      { body: { ...to, shortMessage: text } },
      { body: { ...to, shortMessage: Buffer.from("hallo") } },
      false,
    ],
    [
      "other sender",
      { body: { ...to, shortMessage: text } },
      { body: { ...to, sourceAddr: "B", shortMessage: text } },
      false,
    ],
    [
      "other segment",
      { body: { ...to, esmClass: 0x40, shortMessage: part(1, 1) } },
      { body: { ...to, esmClass: 0x40, shortMessage: part(1, 2) } },
      false,
    ],
    [
      "other reference",
      { body: { ...to, esmClass: 0x40, shortMessage: part(1, 1) } },
      { body: { ...to, esmClass: 0x40, shortMessage: part(2, 1) } },
      false,
    ],
    [
      "other SAR segment",
      { body: to, tlvs: { sarMsgRefNum: 1, sarSegmentSeqnum: 1 } },
      { body: to, tlvs: { sarMsgRefNum: 1, sarSegmentSeqnum: 2 } },
      false,
    ],
    [
      "the same text under two names",
      { body: { ...to, shortMessage: text }, tlvs: named("m1") },
      { body: { ...to, shortMessage: text }, tlvs: named("m2") },
      false,
    ],
    [
      "one name, another reference",
      { body: { ...to, esmClass: 0x40, shortMessage: part(1, 1) }, tlvs: named("m1") },
      { body: { ...to, esmClass: 0x40, shortMessage: part(9, 1) }, tlvs: named("m1") },
      true,
    ],
    [
      "one name, another segment",
      { body: { ...to, esmClass: 0x40, shortMessage: part(1, 1) }, tlvs: named("m1") },
      { body: { ...to, esmClass: 0x40, shortMessage: part(1, 2) }, tlvs: named("m1") },
      false,
    ],
    [
      "other message_payload",
      { body: to, tlvs: { messagePayload: text } },
      { body: to, tlvs: { messagePayload: Buffer.from("x") } },
      false,
    ],
  ];
  for (const [name, one, other, isSame] of PAIRS) {
    it(`takes ${name} for ${isSame ? "the same message" : "two messages"}`, () => {
      expect(identityOf(one) === identityOf(other)).to.equal(isSame);
    });
  }
});

describe("peak rate", () => {
  it("finds the busiest second wherever it begins", () => {
    const rate = new SlidingRate();
    let peak = 0;
    for (const at of [0, 900, 950, 999, 1001, 1100, 1899, 1900, 3000]) {
      rate.add(at);
      peak = Math.max(peak, rate.count(at));
    }
    expect(peak).to.equal(6);
  });
});

describe("the answer and the receipt of a submit", () => {
  for (const latencyMs of [0, 20]) {
    it(`go in this order, both due after ${latencyMs} ms`, async () => {
      const order: string[] = [];
      const behaviour = new BehaviourSwitch();
      behaviour.apply(parseBehaviour({ latency_ms: latencyMs, receipts: { delay_ms: 0 } }));
      // A delivery that is due now is sent now, as in the process.
      const later = (_: unknown, afterMs: number) => {
        if (afterMs <= 0) order.push("receipt");
        else setTimeout(() => order.push("receipt"), afterMs);
      };
      const submits = new Submits({
        behaviour,
        counters: new Counters(),
        deliveries: { add: later } as unknown as Deliveries,
        messages: new MessageStore(),
      });
      const session = { respond: () => void order.push("answer") };
      const pdu = { destinationAddr: "2348031230000", registeredDelivery: 1 };
      const octets = encodePdu({ command: "submit_sm", sequence: 1, body: pdu, tlvs: {} });
      const peer = { session, systemId: "a", mode: "transceiver", open: 0 } as unknown as Peer;
      submits.handle(decodePdu(octets, 0, octets.length) as PduOf<"submit_sm">, peer);
      await eventually(() => order.length === 2);
      expect(order).to.deep.equal(["answer", "receipt"]);
    });
  }
});

describe("the simulator's settings", () => {
  const WRONG: [Record<string, string>, RegExp][] = [
    [{ SMSC_TLS_KEY_FILE: "/key.pem" }, /both or neither/],
    [{ SMSC_TLS_CERT_FILE: "/cert.pem" }, /both or neither/],
    [{ SMSC_SYSTEM_ID: "x".repeat(16) }, /SMSC_SYSTEM_ID.* 15 characters/],
    [
      { SMSC_SYSTEM_ID: "x".repeat(16), SMSC_PASSWORD: "x".repeat(9) },
      /SMSC_SYSTEM_ID[\s\S]*SMSC_PASSWORD.* 8 characters/,
    ],
  ];
  for (const [settings, words] of WRONG) {
    it(`refuses ${Object.keys(settings).join(" with ")}`, () => {
      expect(() => readSettings({ SMSC_PASSWORD: "secret", ...settings })).to.throw(words);
    });
  }
});

describe("behaviour", () => {
  it("a partial change keeps the other settings", () => {
    const behaviour = new BehaviourSwitch();
    behaviour.apply(parseBehaviour({ latency_ms: 20, receipts: { delay_ms: 5 } }));
    behaviour.apply(parseBehaviour({ faults: { throttle: { probability: 0.5, status: 20 } } }));
    expect(behaviour.current).to.deep.include({ latency_ms: 20, window: 1000 });
    expect(behaviour.current.receipts).to.include({
      format: "both",
      delay_ms: 5,
      resend_ms: 1000,
    });
    behaviour.apply(parseBehaviour({ reset: true }));
    expect(behaviour.current).to.deep.include({ latency_ms: 0, faults: {} });
  });

  it("a fault happens as often as its limit allows", () => {
    const behaviour = new BehaviourSwitch();
    behaviour.apply(parseBehaviour({ faults: { drop_link: { limit: 2 }, bind_refused: true } }));
    const struck = [1, 2, 3].map(() => behaviour.strike("submit")?.name);
    expect(struck).to.deep.equal(["drop_link", "drop_link", undefined]);
    expect(behaviour.strike("bind")?.name).to.equal("bind_refused");
  });

  it("the same seed repeats a run", () => {
    const run = () => {
      const behaviour = new BehaviourSwitch();
      behaviour.apply(parseBehaviour({ seed: 7, faults: { no_answer: { probability: 0.3 } } }));
      return Array.from({ length: 50 }, () => behaviour.strike("submit") !== undefined);
    };
    expect(run()).to.deep.equal(run());
    expect(new Set(run()).size).to.equal(2);
  });

  const WRONG: [string, unknown][] = [
    ["an unknown member", { latency: 1 }],
    ["an unknown fault", { faults: { fire: true } }],
    ["a probability over one", { faults: { throttle: { probability: 2 } } }],
    ["a negative latency", { latency_ms: -1 }],
    ["bounds the wrong way round", { latency_ms: { min: 5, max: 1 } }],
    ["a list", []],
    ["nothing", null],
  ];
  for (const [name, input] of WRONG) {
    it(`refuses ${name}`, () => {
      expect(() => parseBehaviour(input)).to.throw(ControlError);
    });
  }

  it("drawn latencies have the configured median and 99th percentile", () => {
    const random = seededRandom(1);
    const drawn = Array.from({ length: 20_000 }, () =>
      sampleLatency({ p50: 20, p99: 200 }, random),
    );
    drawn.sort((a, b) => a - b);
    expect(drawn[10_000]).to.be.within(19, 21);
    expect(drawn[19_800]).to.be.within(170, 235);
  });
});
