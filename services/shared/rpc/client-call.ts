/** One call on a grpc-js channel, without the stream and event objects of grpc-js's own client. */
import type { DescMethod, DescMethodStreaming, DescMethodUnary, Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type StreamResponse, type UnaryResponse } from "@connectrpc/connect";
import { type Channel, Metadata, type StatusObject, status } from "@grpc/grpc-js";
import { CALL_FIELDS, CALL_HEADERS, currentCall, inheritedDeadlineMs } from "./call-context.ts";
import { type CallReport, statusName } from "./call-report.ts";
import { endCallSpan, openClientSpan } from "./call-spans.ts";
import { markReceived } from "./error-status.ts";
import { addHeaders, type HeaderSource, toHeaders } from "./headers.ts";
import { DEFAULT_STREAM_TIMEOUT_MS } from "./limits.ts";
import { createInbox } from "./message-queue.ts";
import { decoder, encoder } from "./routes.ts";
import { decodeStatus } from "./wire-status.ts";

/** The state that all calls of one transport share. */
export type ClientHost = {
  /** The channel for the next call. */
  readonly pick: () => Channel;
  readonly authorization: string | undefined;
  readonly waitForReady: boolean;
  readonly defaultTimeoutMs: number;
  readonly onCall: ((report: CallReport) => void) | undefined;
};

/** A method's path and codec, created once per process. */
export type MethodCodec = {
  readonly method: DescMethod;
  /** `sms.v1.WalletService/GetWallet` */
  readonly name: string;
  readonly path: string;
  readonly encode: (message: Message) => Buffer;
  readonly decode: (bytes: Uint8Array) => Message;
};

const codecs = new WeakMap<DescMethod, MethodCodec>();

/** The codec of a method. */
export function methodCodec(method: DescMethod): MethodCodec {
  const known = codecs.get(method);
  if (known !== undefined) return known;
  const name = `${method.parent.typeName}/${method.name}`;
  const codec: MethodCodec = {
    method,
    name,
    path: `/${name}`,
    encode: encoder(method.input),
    decode: decoder(method.output),
  };
  codecs.set(method, codec);
  return codec;
}

/** Sends one message and awaits one; rejects with the status as a `ConnectError`. */
export function startUnary(
  host: ClientHost,
  codec: MethodCodec,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  header: HeaderSource | undefined,
  message: Message,
): Promise<UnaryResponse> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    if (signal?.aborted) return reject(abortError(signal));
    const limitMs = timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : host.defaultTimeoutMs;
    const bytes = codec.encode(message);
    const call = openCall(host, codec, deadlineFor(limitMs));
    const onAbort = (): void => call.cancelWithStatus(status.CANCELLED, "cancelled");
    signal?.addEventListener("abort", onAbort, { once: true });
    let received: Metadata | undefined;
    let answer: Buffer | undefined;
    const span = openClientSpan(codec.name, currentCall().traceparent);
    call.start(metadataOf(host, header, span?.traceparent), {
      onReceiveMetadata(metadata) {
        received = metadata;
      },
      onReceiveMessage(buffer: Buffer) {
        if (answer === undefined) answer = buffer;
        else call.cancelWithStatus(status.UNIMPLEMENTED, "more than one response message");
      },
      onReceiveStatus(end) {
        signal?.removeEventListener("abort", onAbort);
        endCallSpan(span, statusName(end.code), "client");
        const durationMs = performance.now() - startedMs;
        host.onCall?.({ method: codec.name, code: statusName(end.code), durationMs });
        if (end.code !== status.OK) {
          reject(signal?.aborted ? abortError(signal) : decodeStatus(end));
          return;
        }
        try {
          if (answer === undefined) throw new Error("no response message");
          const decoded = codec.decode(answer);
          resolve(unaryResponse(codec.method as DescMethodUnary, decoded, received, end.metadata));
        } catch (cause) {
          reject(protocolError(cause));
        }
      },
    });
    call.startRead();
    call.sendMessageWithContext({}, bytes);
    call.halfClose();
  });
}

/**
 * Starts a streaming call of any kind; resolves when the response headers arrive. A reader that stops early
 * must abort the call's signal (Connect's client has no other way); otherwise the deadline ends the call.
 */
export function startStream(
  host: ClientHost,
  codec: MethodCodec,
  signal: AbortSignal,
  timeoutMs: number | undefined,
  header: HeaderSource | undefined,
  input: AsyncIterable<Message>,
): Promise<StreamResponse> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    const method = codec.method as DescMethodStreaming;
    const limitMs = timeoutMs ?? DEFAULT_STREAM_TIMEOUT_MS;
    const deadline = limitMs > 0 ? deadlineFor(limitMs) : Number.POSITIVE_INFINITY;
    const call = openCall(host, codec, deadline);
    const inbox = createInbox<Message>(() => call.startRead());
    const trailer = new Headers();
    let isEnded = false;
    let inputError: unknown;
    const cancel = (reason: string): void => call.cancelWithStatus(status.CANCELLED, reason);
    const onAbort = (): void => cancel("cancelled");

    const answer = (head: Headers): void =>
      resolve({
        stream: true,
        service: method.parent,
        method,
        header: head,
        trailer,
        message: inbox.messages,
      });

    const span = openClientSpan(codec.name, currentCall().traceparent);
    call.start(metadataOf(host, header, span?.traceparent), {
      onReceiveMetadata: (metadata) => answer(toHeaders(metadata)),
      onReceiveMessage(buffer: Buffer) {
        try {
          inbox.push(codec.decode(buffer));
        } catch (cause) {
          inbox.fail(protocolError(cause));
          cancel("undecodable message");
        }
      },
      onReceiveStatus(end) {
        isEnded = true;
        signal.removeEventListener("abort", onAbort);
        endCallSpan(span, statusName(end.code), "client");
        const durationMs = performance.now() - startedMs;
        host.onCall?.({ method: codec.name, code: statusName(end.code), durationMs });
        for (const [name, value] of toHeaders(end.metadata)) trailer.append(name, value);
        if (end.code === status.OK) {
          inbox.end();
          answer(new Headers());
          return;
        }
        const error = streamError(end, signal, inputError);
        inbox.fail(error);
        reject(error);
      },
    });
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    inbox.open();
    sendAll(codec, call, input, () => isEnded).catch((error: unknown) => {
      inputError = error;
      cancel("the request stream failed");
    });
  });
}

type Call = ReturnType<Channel["createCall"]>;

/** Writes each message when the one before has been sent, then half-closes. */
async function sendAll(
  codec: MethodCodec,
  call: Call,
  input: AsyncIterable<Message>,
  isEnded: () => boolean,
): Promise<void> {
  for await (const message of input) {
    if (isEnded()) return;
    const bytes = codec.encode(message);
    await new Promise<void>((resolve) => {
      call.sendMessageWithContext({ callback: () => resolve() }, bytes);
    });
  }
  if (!isEnded()) call.halfClose();
}

function openCall(host: ClientHost, codec: MethodCodec, deadline: number): Call {
  try {
    return host.pick().createCall(codec.path, deadline, null, null, null);
  } catch (cause) {
    const error = new ConnectError("the transport is closed", Code.Unavailable);
    error.cause = cause;
    throw markReceived(error);
  }
}

/** The deadline of a call, at most that of the call on whose behalf it is made. */
function deadlineFor(limitMs: number): number {
  return Math.min(Date.now() + limitMs, inheritedDeadlineMs());
}

function metadataOf(
  host: ClientHost,
  header: HeaderSource | undefined,
  spanTraceparent: string | undefined,
): Metadata {
  const metadata = new Metadata(host.waitForReady ? { waitForReady: true } : {});
  const call = currentCall();
  for (const field of CALL_FIELDS) {
    const value = field === "traceparent" ? (spanTraceparent ?? call.traceparent) : call[field];
    if (value !== undefined) metadata.set(CALL_HEADERS[field], value);
  }
  if (header !== undefined) addHeaders(metadata, new Headers(header));
  if (host.authorization !== undefined) metadata.set("authorization", host.authorization);
  return metadata;
}

function unaryResponse(
  method: DescMethodUnary,
  message: Message,
  received: Metadata | undefined,
  trailers: Metadata,
): UnaryResponse {
  return {
    stream: false,
    service: method.parent,
    method,
    message,
    // Created on access: few callers read it.
    get header() {
      return received === undefined ? new Headers() : toHeaders(received);
    },
    get trailer() {
      return toHeaders(trailers);
    },
  };
}

function streamError(end: StatusObject, signal: AbortSignal, inputError: unknown): ConnectError {
  if (inputError !== undefined) return ConnectError.from(inputError);
  return signal.aborted ? abortError(signal) : decodeStatus(end);
}

function abortError(signal: AbortSignal): ConnectError {
  return markReceived(ConnectError.from(signal.reason, Code.Canceled));
}

function protocolError(cause: unknown): ConnectError {
  const text = "The response cannot be read.";
  return markReceived(new ConnectError(text, Code.Internal, undefined, undefined, cause));
}
