import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { driveClosed, driveOpen, type Measured } from "./drive.ts";
import { bulkSend, openConnections, singleSend } from "./sends.ts";

/** Connections of the row of single sends, ours and the peers'. */
export const ACCEPT_CONNECTIONS = 256;

const BULK_CONNECTIONS = 8;

/** Single sends accepted by our stack as fast as they go. */
export async function measureOurAccept(
  stack: StackFile,
  shape: { readonly warmupMs: number; readonly measureMs: number },
): Promise<Measured> {
  const connections = await openConnections(stack, ACCEPT_CONNECTIONS);
  let count = 0;
  const measured = await driveClosed({
    callers: connections.length,
    ...shape,
    work: async (caller) => {
      count += 1;
      return (await connections[caller]?.send(singleSend(stack, count)))?.status === 202;
    },
  });
  for (const connection of connections) connection.close();
  return measured;
}

/** Bulk sends of `size` recipients accepted by our stack as fast as they go. */
export async function measureOurBulk(
  stack: StackFile,
  shape: { readonly size: number; readonly warmupMs: number; readonly measureMs: number },
): Promise<Measured> {
  const connections = await openConnections(stack, BULK_CONNECTIONS);
  const { size, ...times } = shape;
  let count = 0;
  const measured = await driveClosed({
    callers: connections.length,
    ...times,
    work: async (caller) => {
      count += 1;
      const answer = await connections[caller]?.send(bulkSend(stack, count, size));
      return answer?.status === 202 && answer.body.includes(`"accepted":${size},`);
    },
  });
  for (const connection of connections) connection.close();
  return measured;
}

/** A lone request at a time, twenty a second, on a service that has run for `compileMs` or longer. */
export async function measureLone(
  stack: StackFile,
  seconds: number,
  compileMs = 8000,
): Promise<Measured> {
  const [connection] = await openConnections(stack, 1);
  let count = 0;
  const work = async () => {
    count += 1;
    return (await connection?.send(singleSend(stack, count)))?.status === 202;
  };
  // Code that was never run is compiled on its way; a service in use has that behind it.
  await driveClosed({ callers: 1, warmupMs: 0, measureMs: compileMs, work });
  const load = { callers: 1, perSecond: 20, warmupMs: 1000, measureMs: seconds * 1000 };
  const measured = await driveOpen({ ...load, work });
  connection?.close();
  return measured;
}
