/** Runs Kannel with the same texts, recipients, window and simulator as our stack. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  DLR_MASK,
  type Kannel,
  type KannelOptions,
  sendSmsPath,
  startKannel,
} from "../support/kannel.ts";
import { driveClosed, type Measured } from "./drive.ts";
import { type EndToEnd, type Load, measureEndToEnd } from "./end-to-end.ts";
import { getRequest, openConnection } from "./http-client.ts";
import { ordinaryRecipient, sendText } from "./sends.ts";

/** As many submits may wait for their answer as our connector has. */
const WINDOW = 100;

/** A port without a listener: a stopped SMSC. */
const NO_SMSC_PORT = 1;

/**
 * Messages per second from the HTTP request to the handset's report in the user's hands. The user
 * gets two reports of each message, submitted and delivered, as our webhook tells of both.
 */
export async function measureKannelEndToEnd(
  smsc: KannelOptions["smsc"],
  load: Load,
): Promise<EndToEnd> {
  let delivered = 0;
  const reports = createServer((request, response) => {
    if (request.url === `/?type=${DLR_MASK.delivered}`) delivered += 1;
    response.end();
  });
  reports.listen(0, "127.0.0.1");
  await once(reports, "listening");
  const { port } = reports.address() as AddressInfo;
  const report = {
    url: `http://127.0.0.1:${port}/?type=%d`,
    mask: DLR_MASK.delivered | DLR_MASK.undelivered | DLR_MASK.submitted | DLR_MASK.refused,
  };
  const kannel = await startKannel({ smsc, window: WINDOW, hasSpool: true });
  try {
    return await measureEndToEnd(
      {
        url: kannel.url,
        request: (count) => sendRequest(kannel, count, report),
        finished: async () => delivered,
      },
      load,
    );
  } finally {
    await kannel.stop();
    reports.close();
    reports.closeAllConnections();
  }
}

/** Requests accepted per second while the SMSC is stopped and all messages queue. */
export async function measureKannelAccept(shape: {
  readonly connections: number;
  readonly warmupMs: number;
  readonly measureMs: number;
}): Promise<Measured> {
  const smsc = { port: NO_SMSC_PORT, systemId: "peer", password: "peer" };
  const kannel = await startKannel({ smsc, window: WINDOW, hasSpool: true });
  const connections = await Promise.all(
    Array.from({ length: shape.connections }, () => openConnection(kannel.url)),
  );
  let count = 0;
  try {
    return await driveClosed({
      callers: connections.length,
      warmupMs: shape.warmupMs,
      measureMs: shape.measureMs,
      work: async (caller) => {
        count += 1;
        return (await connections[caller]?.send(sendRequest(kannel, count)))?.status === 202;
      },
    });
  } finally {
    for (const connection of connections) connection.close();
    await kannel.stop();
  }
}

function sendRequest(
  kannel: Kannel,
  count: number,
  report?: { readonly url: string; readonly mask: number },
): Buffer {
  const path = sendSmsPath({
    from: "DEMO",
    to: ordinaryRecipient(count),
    text: sendText(count),
    ...(report === undefined ? {} : { report }),
  });
  return getRequest(kannel.url, path, {});
}
