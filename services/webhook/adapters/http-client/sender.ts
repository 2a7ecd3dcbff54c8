import type { AttemptResult } from "../../domain/delivery.ts";
import type { Target } from "../../domain/url-rules.ts";
import type { Connections } from "./connection-pool.ts";
import { classify, HttpRequest } from "./request.ts";
import type { HostGuard } from "./ssrf-guard.ts";

/** One request to be made. */
export type SendRequest = {
  readonly endpointId: string;
  readonly target: Target;
  /** All but `Host`, `Content-Length` and `Connection`, which the sender says. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as UTF-8. As text it leaves in one write with the headers; bytes would need two. */
  readonly body: string;
  readonly timeoutMs: number;
};

/** Makes requests to endpoints; every fault of the network or the receiver is a result. */
export type Sender = {
  /**
   * Answers `undefined` when the endpoint was stopped before anything was sent. Rejects when a path
   * or a header is not fit to be sent, which is a mistake in this program.
   */
  send(wanted: SendRequest): Promise<AttemptResult | undefined>;
  /**
   * Nothing leaves for the endpoint from now on: a name may take seconds to be found and a
   * connection to be made, and nothing may go out after the endpoint was turned off. Requests
   * already on their way get their answer, but none is sent again should its connection be closed.
   */
  stop(endpointId: string): void;
  close(): void;
};

/** What the sender tells the metrics. */
export type SenderEvents = { readonly onConnection: (kind: "new" | "reused") => void };

/** Makes the sender. */
export function createSender(parts: {
  readonly connections: Connections;
  readonly guard: HostGuard;
  readonly events: SenderEvents;
}): Sender {
  const { connections, guard, events } = parts;
  const live = new Set<HttpRequest>();
  const shared = { connections, events, live };

  return {
    send: (wanted) =>
      new Promise((resolve) => {
        const exchange = new HttpRequest(shared, wanted, resolve);
        guard.vet(wanted.target.host).then(
          () => exchange.start(),
          (error: unknown) => exchange.fail(classify(error)),
        );
      }),
    stop(endpointId) {
      for (const exchange of [...live]) {
        if (exchange.endpointId === endpointId) exchange.stop();
      }
    },
    close: () => connections.close(),
  };
}
