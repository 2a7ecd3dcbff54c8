/**
 * What: a limit for the messages that one call on a server receives, and the call's connection.
 * Why: grpc-js has one limit for the whole server, 16 MiB here. A caller that has shown no token may hold only a few
 * KiB, and the limit must apply before a message is buffered.
 * Upstream: no issue known.
 * Tried with: @grpc/grpc-js 1.14.7 (`BaseServerInterceptingCall`).
 * Tests: `test/integration/rpc/unauthenticated-connections.test.ts`.
 */
import type { Http2Session, Http2Stream } from "node:http2";
import type { ServerInterceptingCallInterface } from "@grpc/grpc-js";

type Private = {
  readonly stream: Http2Stream;
  maxReceiveMessageSize: number;
  readonly decoder: { maxReadMessageLength: number };
};

/** The HTTP/2 session of a call that has just begun. */
export function sessionOf(call: ServerInterceptingCallInterface): Http2Session | undefined {
  return (call as unknown as Private).stream.session;
}

/** Limits the size of a call's messages, compressed and uncompressed; the call has received none yet. */
export function limitReceived(call: ServerInterceptingCallInterface, bytes: number): void {
  const parts = call as unknown as Private;
  if (parts.decoder.maxReadMessageLength === undefined) {
    throw new Error("this version of grpc-js keeps its limit of messages elsewhere");
  }
  parts.maxReceiveMessageSize = bytes;
  parts.decoder.maxReadMessageLength = bytes;
}
