import { expect } from "chai";
import {
  MongoNetworkError,
  MongoServerClosedError,
  MongoServerError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from "mongodb";
import { AppError } from "../../../services/shared/core/errors.ts";
import { isMongoOutage, wrapMongoError } from "../../../services/shared/io/mongo-errors.ts";

const ofSocket = (code: string) => Object.assign(new Error("of the socket"), { code });
const ofServer = (code: number) => new MongoServerError({ message: "of the server", code });
const unconfirmed = (code: number) =>
  new MongoWriteConcernError({ writeConcernError: { code, errmsg: "not confirmed" } } as never);

describe("errors of the database", () => {
  for (const [what, error] of [
    ["a lost connection", new MongoNetworkError("connection 1 closed")],
    ["a socket that the other side has ended", ofSocket("EPIPE")],
    ["a server that shuts down", ofServer(11600)],
    ["a write that a server did and cannot confirm as it shuts down", unconfirmed(91)],
    ["a full disk", ofServer(14031)],
    ["a read that took longer than it may", ofServer(50)],
    ["a server that has left the set", new MongoServerClosedError()],
    ["a client that is closing", new MongoTopologyClosedError()],
    ["a primary that is none any more", ofServer(10107)],
    ["an outage passed on", new AppError("service_unavailable", "busy")],
  ] as const) {
    it(`count ${what} as an outage`, () => {
      expect(isMongoOutage(error)).to.equal(true);
      expect(wrapMongoError(error)).to.have.property("code", "service_unavailable");
    });
  }

  for (const [what, error] of [
    ["a duplicate key", ofServer(11000)],
    ["a document that is too large", ofServer(10334)],
    ["a value that cannot be written", new RangeError("out of range")],
    ["a missing file", ofSocket("ENOENT")],
    ["a refusal passed on", new AppError("not_found", "none")],
  ] as const) {
    it(`do not count ${what} as one`, () => {
      expect(isMongoOutage(error)).to.equal(false);
      expect(wrapMongoError(error)).to.equal(error);
    });
  }
});
