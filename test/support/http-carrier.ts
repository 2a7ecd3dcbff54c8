import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that the carrier got. */
export type CarrierRequest = {
  readonly headers: IncomingMessage["headers"];
  readonly body: Record<string, string>;
};

export type HttpAnswer = {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
};

/** An HTTP carrier for tests, on a free port of 127.0.0.1. */
export type HttpCarrier = {
  readonly url: string;
  readonly requests: readonly CarrierRequest[];
  /** Sets the next responses; by default 200 with an id. */
  answerWith(answer: HttpAnswer | undefined): void;
  /** Chooses the responses to later requests by their bodies; undefined is 200 with an id. */
  answerBy(choose: (body: Record<string, string>) => HttpAnswer | undefined): void;
  /** Calls a receipt URL; returns the status. */
  sendReceipt(url: string, status: string): Promise<number>;
  close(): Promise<void>;
};

/** Starts it. */
export async function startHttpCarrier(): Promise<HttpCarrier> {
  const requests: CarrierRequest[] = [];
  let choose: (body: Record<string, string>) => HttpAnswer | undefined = () => undefined;
  const server = createServer((request, response) => {
    void readJson(request).then((body) => {
      requests.push({ headers: request.headers, body });
      const accepted = { status: 200, body: { id: `c${requests.length}` } };
      const { status, body: said = {}, headers = {} }: HttpAnswer = choose(body) ?? accepted;
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(said));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/send`,
    requests,
    answerWith(next) {
      choose = () => next;
    },
    answerBy(next) {
      choose = next;
    },
    async sendReceipt(url, status) {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ status }),
      });
      await response.arrayBuffer();
      return response.status;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readJson(request: IncomingMessage): Promise<Record<string, string>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, string>;
}
