import { expect } from "chai";
import { TrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { isAllowed } from "../../../services/messaging/domain/traffic-class.ts";
import { TRAFFIC_CLASSES, trafficClassOf } from "../../../services/shared/core/traffic-class.ts";
import {
  readTrafficClass,
  routeClassOf,
  WIRE_TRAFFIC_CLASS,
} from "../../../services/shared/rpc/traffic-class.ts";

/** A class that only a newer release knows. */
const NEWER = 99 as TrafficClass;

describe("traffic classes in the protocol", () => {
  it("come back as they were written", () => {
    for (const name of TRAFFIC_CLASSES) {
      expect(readTrafficClass(WIRE_TRAFFIC_CLASS[name])).to.equal(name);
      expect(routeClassOf(WIRE_TRAFFIC_CLASS[name])).to.equal(name);
      expect(trafficClassOf(name)).to.equal(name);
    }
  });

  it("of a newer release are bound by every rule, and on a route match no message", () => {
    expect(readTrafficClass(NEWER)).to.equal("promotional");
    expect(trafficClassOf("urgent")).to.equal("promotional");
    expect(routeClassOf(NEWER)).to.equal("unknown");
    expect(routeClassOf(TrafficClass.UNSPECIFIED)).to.equal("unknown");
    expect(readTrafficClass(TrafficClass.UNSPECIFIED)).to.equal(undefined);
  });

  it("may be narrowed by a send, and never widened", () => {
    const allowed = TRAFFIC_CLASSES.flatMap((wanted) =>
      TRAFFIC_CLASSES.filter((ofSender) => isAllowed(wanted, ofSender)).map((ofSender) =>
        [wanted, ofSender].join(" under "),
      ),
    );
    expect(allowed).to.deep.equal([
      "otp under otp",
      ...["transactional under otp", "transactional under transactional"],
      ...["promotional under otp", "promotional under transactional"],
      "promotional under promotional",
    ]);
  });
});
