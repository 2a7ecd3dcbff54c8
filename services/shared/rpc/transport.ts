/** A Connect `Transport` on a grpc-js channel: the way services call each other between processes. */
import { create } from "@bufbuild/protobuf";
import { createContextValues, type StreamResponse, type Transport } from "@connectrpc/connect";
import { runStreamingCall } from "@connectrpc/connect/protocol";
import { Channel, type ChannelCredentials, connectivityState, credentials } from "@grpc/grpc-js";
import type { CallReport } from "./call-report.ts";
import "../vendor/grpc-connections.ts";
import { type ClientHost, methodCodec, startStream, startUnary } from "./client-call.ts";
import { DEFAULT_MESSAGE_BYTES, KEEP_ALIVE_MS, KEEP_ALIVE_TIMEOUT_MS } from "./limits.ts";
import { channelCredentialsFrom, type RpcTlsFiles } from "./mutual-tls.ts";

/**
 * PEM contents: the servers' authority, and a client certificate for mutual TLS. Or files, which are read again
 * at an interval.
 */
export type RpcClientTls = (
  | { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer }
  | RpcTlsFiles
) & {
  /** The name in the server's certificate; required when the target is an IP address. */
  readonly serverName?: string;
};

/** The options of a transport; every limit has a default. */
export type RpcTransportOptions = {
  /**
   * `host:port` (resolved by DNS, again whenever a connection ends; round robin over all addresses), several of
   * them, or any grpc-js target such as `unix:/run/wallet.sock`.
   */
  readonly target: string | readonly string[];
  /** Sent as `authorization: Bearer`. */
  readonly token?: string | undefined;
  readonly tls?: RpcClientTls | undefined;
  /** The deadline of unary calls that set none. 10 s. */
  readonly defaultTimeoutMs?: number;
  /** The largest message in either direction. 16 MiB. */
  readonly maxMessageBytes?: number;
  /** Calls wait for a connection until their deadline instead of failing at once. Off. */
  readonly waitForReady?: boolean;
  /**
   * The longest pause between attempts to connect; attempts never end. 1 s: in a rolling restart the next
   * replica stops soon after this one is back, and the client must have found this one by then.
   */
  readonly maxReconnectMs?: number;
  readonly onCall?: ((report: CallReport) => void) | undefined;
};

/** A transport with its own connections. */
export type RpcTransport = Transport & {
  /** Resolves when connected to a server; rejects after `timeoutMs`. */
  ready(timeoutMs: number): Promise<void>;
  /** Closes the connections; later calls fail with UNAVAILABLE. */
  close(): void;
};

/**
 * Opens a transport. The first call or `ready` starts connecting, and the transport reconnects for ever.
 */
export function createGrpcJsTransport(options: RpcTransportOptions): RpcTransport {
  const channels = targetsOf(options.target).map((target) => openChannel(target, options));
  const host: ClientHost = {
    pick: roundRobin(channels),
    authorization: options.token === undefined ? undefined : `Bearer ${options.token}`,
    waitForReady: options.waitForReady ?? false,
    defaultTimeoutMs: options.defaultTimeoutMs ?? 10_000,
    onCall: options.onCall,
  };

  const transport: Transport = {
    unary(method, signal, timeoutMs, header, input) {
      const message = create(method.input, input);
      const codec = methodCodec(method);
      return startUnary(host, codec, signal, timeoutMs, header, message) as Promise<never>;
    },

    stream(method, signal, timeoutMs, header, input, contextValues) {
      const codec = methodCodec(method);
      return runStreamingCall({
        ...(signal === undefined ? {} : { signal }),
        ...(timeoutMs === undefined || timeoutMs <= 0 ? {} : { timeoutMs }),
        req: {
          stream: true,
          service: method.parent,
          method,
          requestMethod: "POST",
          url: codec.path,
          header: new Headers(header),
          contextValues: contextValues ?? createContextValues(),
          message: input,
        },
        next: (req) =>
          startStream(host, codec, req.signal, timeoutMs, req.header, req.message) as Promise<
            StreamResponse<typeof method.input, typeof method.output>
          >,
      });
    },
  };

  return {
    ...transport,
    ready: (timeoutMs) => Promise.any(channels.map((channel) => ready(channel, timeoutMs))),
    close: () => {
      for (const channel of channels) channel.close();
    },
  };
}

function openChannel(target: string, options: RpcTransportOptions): Channel {
  const { tls } = options;
  const maxBytes = options.maxMessageBytes ?? DEFAULT_MESSAGE_BYTES;
  return new Channel(target, channelCredentials(tls), {
    "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
    // The service config is set here, never by DNS TXT records.
    "grpc.service_config_disable_resolution": 1,
    "grpc.dns_min_time_between_resolutions_ms": 5000,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": options.maxReconnectMs ?? 1000,
    "grpc.keepalive_time_ms": KEEP_ALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEP_ALIVE_TIMEOUT_MS,
    "grpc.keepalive_permit_without_calls": 1,
    "grpc.max_send_message_length": maxBytes,
    "grpc.max_receive_message_length": maxBytes,
    "grpc.enable_http_proxy": 0,
    "grpc.enable_channelz": 0,
    ...(tls?.serverName === undefined ? {} : { "grpc.ssl_target_name_override": tls.serverName }),
  });
}

function channelCredentials(tls: RpcClientTls | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  if ("certFile" in tls) return channelCredentialsFrom(tls);
  return credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null);
}

/**
 * Converts addresses to grpc-js targets (grpc/grpc, doc/naming.md). A list of IP addresses is one target; each
 * name is one, because a target resolves a single name.
 */
function targetsOf(target: string | readonly string[]): string[] {
  const list = typeof target === "string" ? [target] : target;
  if (list.length === 0) throw new Error("a transport needs at least one target");
  if (list.length > 1 && list.every((address) => IPV4.test(address))) {
    return [`ipv4:${list.join(",")}`];
  }
  return list.map((address) => (SCHEME.test(address) ? address : `dns:///${address}`));
}

const SCHEME = /^(dns|ipv4|ipv6|unix|xds):/;
const IPV4 = /^\d+\.\d+\.\d+\.\d+:\d+$/;

/** Round robin over channels; those without a connection only when none has one. */
function roundRobin(channels: readonly Channel[]): () => Channel {
  const [only, second] = channels;
  if (only !== undefined && second === undefined) return () => only;
  let next = 0;
  return () => {
    next += 1;
    const ordered = channels.map((_, offset) => channels[(next + offset) % channels.length]);
    // Reading the state also starts a connection where there is none.
    const isReady = ordered.map(
      (channel) => channel?.getConnectivityState(true) === connectivityState.READY,
    );
    return ordered[Math.max(0, isReady.indexOf(true))] as Channel;
  };
}

function ready(channel: Channel, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  return new Promise((resolve, reject) => {
    function check(error?: Error): void {
      if (error !== undefined) {
        reject(new Error(`${channel.getTarget()} was not reached in ${timeoutMs} ms`));
        return;
      }
      const state = channel.getConnectivityState(true);
      if (state === connectivityState.READY) resolve();
      else channel.watchConnectivityState(state, deadline, check);
    }
    check();
  });
}
