/**
 * A load balancer: it probes each gateway's readiness four times a second and opens new connections only to
 * ready ones. An open connection stays until the gateway sends `Connection: close`, as with a cluster's
 * virtual address. Every second caller leaves an unready gateway at once, as behind an HTTP proxy.
 */
import { Agent, type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { startLoop } from "../../services/shared/flow/periodic.ts";
import { createLogger } from "../../services/shared/io/log.ts";

/** One gateway: its address and its readiness probe. */
export type Gateway = { readonly url: string; readonly ops: string };

/** The response of a call. */
export type Answer = { readonly status: number; readonly body: string };

/** A caller with one connection; it throws on failure and never retries. */
export type Caller = {
  call(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<Answer>;
  close(): void;
};

/** The entry in front of several gateways. */
export type Entry = {
  readonly openCaller: () => Caller;
  /** Requests that each gateway answered. */
  readonly answered: ReadonlyMap<string, number>;
  close(): Promise<void>;
};

const PROBE_INTERVAL_MS = 250;
const ANSWER_TIMEOUT_MS = 30_000;

/** Starts probing; returns when every gateway is ready. */
export async function openEntry(gateways: readonly Gateway[]): Promise<Entry> {
  const ready = new Set<Gateway>();
  const answered = new Map(gateways.map(({ url }) => [url, 0]));
  let turn = 0;

  async function probe(): Promise<boolean> {
    await Promise.all(
      gateways.map(async (gateway) => {
        const isReady = await answersReady(gateway);
        if (isReady) ready.add(gateway);
        else ready.delete(gateway);
      }),
    );
    return false;
  }

  function pick(): Gateway {
    const open = gateways.filter((gateway) => ready.has(gateway));
    turn += 1;
    const gateway = open[turn % open.length];
    if (gateway === undefined) throw new Error("no gateway is ready");
    return gateway;
  }

  function openCaller(leavesUnready: boolean): Caller {
    let place: Place | undefined;

    function takePlace(): Place {
      const isLost =
        place === undefined || place.isOver || (leavesUnready && !ready.has(place.gateway));
      if (isLost || place === undefined) {
        place?.agent.destroy();
        const agent = new Agent({ keepAlive: true, maxSockets: 1 });
        place = { gateway: pick(), agent, socket: undefined, isOver: false };
      }
      return place;
    }

    return {
      async call(method, path, headers, body) {
        const taken = takePlace();
        const { url } = taken.gateway;
        const answer = await send(taken, { method, path, headers }, body);
        answered.set(url, (answered.get(url) ?? 0) + 1);
        return answer;
      },
      close: () => place?.agent.destroy(),
    };
  }

  let callers = 0;
  await probe();
  if (ready.size < gateways.length) throw new Error("not every gateway is ready");
  const log = createLogger("entry", "error");
  const loop = startLoop({ name: "entry", intervalMs: PROBE_INTERVAL_MS, log, work: probe });
  return {
    openCaller() {
      callers += 1;
      return openCaller(callers % 2 === 0);
    },
    answered,
    close: () => loop.close(),
  };
}

async function answersReady({ ops }: Gateway): Promise<boolean> {
  try {
    const response = await fetch(`${ops}/readyz`, { signal: AbortSignal.timeout(2000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** A caller's connection to a gateway, until it closes or will close after the next response. */
type Place = {
  readonly gateway: Gateway;
  readonly agent: Agent;
  socket: Socket | undefined;
  isOver: boolean;
};

type Call = {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
};

function send(place: Place, call: Call, body: string | undefined): Promise<Answer> {
  const { gateway, agent } = place;
  const { method, path, headers } = call;
  const leave = () => {
    place.isOver = true;
  };
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, gateway.url), {
      agent,
      method,
      headers,
      timeout: ANSWER_TIMEOUT_MS,
    });
    sent.on("socket", (socket) => {
      if (place.socket === socket) return;
      place.socket = socket;
      socket.once("close", leave);
    });
    sent.on("timeout", () => sent.destroy(new Error(`no answer in ${ANSWER_TIMEOUT_MS} ms`)));
    sent.on("error", (error) => {
      leave();
      reject(error);
    });
    sent.on("response", (response: IncomingMessage) => {
      if (response.headers.connection === "close") leave();
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    sent.end(body);
  });
}
