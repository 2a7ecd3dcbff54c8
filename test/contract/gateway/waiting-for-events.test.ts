/** Requests that wait for events hold nothing that others need, and end with the process or their client. */
import { expect } from "chai";
import type { Webhooks } from "../../../gateway/operations/webhooks/webhook-operation.ts";
import { eventually } from "../../support/poll.ts";
import { API_KEY, openRestApp, type RestApp } from "../../support/rest-app.ts";

const headers = { authorization: `Bearer ${API_KEY}` };

describe("requests that wait for events", () => {
  let app: RestApp;
  let ending: AbortController;
  let calls: AbortSignal[];

  /** A webhook service whose calls end with their signal only. */
  beforeEach(async () => {
    ending = new AbortController();
    calls = [];
    const readEvents = (_request: unknown, { signal }: { signal: AbortSignal }) => {
      calls.push(signal);
      return new Promise((_, reject) => {
        const end = () => reject(new Error("cancelled"));
        if (signal.aborted) end();
        else signal.addEventListener("abort", end);
      });
    };
    const webhooks = { readEvents } as unknown as Webhooks;
    app = await openRestApp({ requestsMax: 2, ports: { webhooks, ending: ending.signal } });
  });
  afterEach(() => app.close());

  const wait = (signal?: AbortSignal) =>
    fetch(`${app.url}/v1/events?wait=20`, { headers, ...(signal && { signal }) });
  const waiting = (count: number) =>
    eventually(() => calls.length === count, { what: `${count} calls` });

  it("do not count for the load limit", async () => {
    const answers = [wait(), wait(), wait()];
    await waiting(3);
    const other = await fetch(`${app.url}/v1/messages/msg_01M7ZT1N7Y5V51BPMMDFK33YKG`, { headers });
    expect(other.status).to.equal(404);
    ending.abort();
    await Promise.all(answers);
  });

  it("are answered with 503 when the process ends, so that the client repeats with its cursor", async () => {
    const answer = wait();
    await waiting(1);
    ending.abort();
    const { status, headers: sent } = await answer;
    expect(status).to.equal(503);
    expect(sent.get("retry-after")).to.match(/^\d+$/);
    expect((await wait()).status, "a later one").to.equal(503);
  });

  it("end their call when the client leaves", async () => {
    const leave = new AbortController();
    const left = wait(leave.signal).catch(() => "left");
    await waiting(1);
    leave.abort();
    expect(await left).to.equal("left");
    await eventually(() => calls[0]?.aborted === true, { what: "the end of the call" });
  });
});
