import { exists, linesWith, rule, sources } from "../support/house-rules.ts";

/**
 * Files outside `shared/flow` with a timer of their own, and the reason. Each timer belongs to one object (a
 * request, a socket, a lease) and ends with it; it is no queue, cache or retry loop.
 */
const OWN_TIMERS: Readonly<Record<string, string>> = {
  "gateway/docs/assets/site.js": "runs in a browser: the label of one button",
  "gateway/docs/examples/retry-safely.ts": "an example for customers, who do not have our code",
  "gateway/http/body.ts": "the time limit of one body",
  "gateway/http/drain-request.ts": "the time limits of one refused body",
  "gateway/http/pause-refused-sockets.ts": "resumes paused sockets; runs only while there are some",
  "gateway/http/response-budget.ts": "reads the sizes of unread answers, which have no event",
  "gateway/http/server.ts": "closes the server and its refused sockets",
  "gateway/load-shedding/fast-503.ts": "the time limit of one refused connection",
  "gateway/load-shedding/load-limiter.ts":
    "measures the delay of the event loop by the timer itself",
  "services/carrier/adapters/links/http-link.ts": "closes a failing link for one period",
  "services/carrier/adapters/links/test-link.ts": "the times of simulated receipts",
  "services/carrier/app/connector.ts": "the tick of one connector's dispatcher",
  "services/carrier/app/dispatcher.ts": "the due time of one submit",
  "services/carrier/app/save-partial-submissions.ts":
    "saves the parts of one message while they leave",
  "services/carrier/app/supervisor.ts": "drops links when leases could not be renewed in time",
  "services/messaging/adapters/inflight-sends-nats.ts": "the time limit of one query",
  "services/messaging/app/inflight-sends.ts": "the time limit of one wait",
  "services/shared/io/abandoned-transactions.ts": "searches while one write waits",
  "services/shared/io/consumer.ts": "renews the acknowledgement wait of one batch",
  "services/shared/io/release-idle-memory.ts": "waits for an idle second, every ten minutes",
  "services/shared/io/lifecycle.ts": "ends the process when a handle keeps it alive",
  "services/shared/io/idempotency-locks.ts": "renews one lock",
  "services/shared/io/listen.ts": "the time limit of busy connections at a close",
  "services/shared/process.ts": "lets the log be written before the process exits",
  "services/shared/rpc/local-transport.ts": "the deadline of one call",
  "services/shared/rpc/server-call.ts": "the deadline of one call",
  "services/shared/rpc/server.ts": "the time limit of a drain",
  "services/shared/smpp/client.ts": "the time limit of one dial, and the wait before the next one",
  "services/shared/smpp/server.ts": "lets the answer of a refused bind leave before the close",
  "services/shared/smpp/session.ts": "the tick of one session: answers due, enquire_link",
  "services/shared/vendor/grpc-connections.ts": "the time limit of one dial",
  "services/shared/vendor/nats-pull-batch.ts": "the time limit of one pull",
  "services/webhook/adapters/http-client/connection-pool.ts": "closes idle connections",
  "services/webhook/adapters/http-client/connection.ts": "the time limit of one close",
  "services/webhook/adapters/http-client/request.ts": "the time limit of one body",
  "services/webhook/app/dispatcher.ts": "the due time of one delivery",
};

const TIMER = /\b(setTimeout|setInterval)\(|from "node:timers/;
const PLACES = /^(gateway|services)\/(?!shared\/flow\/|smsc-simulator\/)/;

describe("timers", () => {
  const inPlaces = sources.filter(({ path }) => PLACES.test(path));

  rule("timers are in shared/flow, or in a listed file with a reason", () =>
    linesWith(
      inPlaces.filter(({ path }) => OWN_TIMERS[path] === undefined),
      (line) => TIMER.test(line),
    ),
  );

  rule("every listed file still has a timer of its own", () =>
    Object.keys(OWN_TIMERS).filter(
      (path) =>
        !exists(path) || !inPlaces.some((file) => file.path === path && TIMER.test(file.text)),
    ),
  );
});
