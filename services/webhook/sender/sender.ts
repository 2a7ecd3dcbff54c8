import type { AttemptResult } from "../domain/delivery.ts";
import type { Target } from "../domain/url-rules.ts";
import type { Connections } from "./connections.ts";
import { classify, Exchange } from "./exchange.ts";
import type { HostGuard } from "./host-guard.ts";

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
   * Ends the endpoint's attempts that have not sent anything yet: a name may take seconds to be
   * found and a connection to be made, and nothing may go out after the endpoint was turned off.
   * Requests already on their way get their answer.
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
  const unsent = new Set<Exchange>();
  const shared = { connections, events, unsent };

  return {
    send: (wanted) =>
      new Promise((resolve) => {
        const exchange = new Exchange(shared, wanted, resolve);
        guard.vet(wanted.target.host).then(
          () => exchange.start(),
          (error: unknown) => exchange.fail(classify(error)),
        );
      }),
    stop(endpointId) {
      for (const exchange of [...unsent]) {
        if (exchange.endpointId === endpointId) exchange.stop();
      }
    },
    close: () => connections.close(),
  };
}
