import { connect, createServer, type Socket } from "node:net";

/** A proxy to a port of loopback that holds each connection until it is let through. */
export async function openGate(port: number) {
  const all: Socket[] = [];
  const held: Socket[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    all.push(socket);
    held.push(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    /** Every connection, oldest first. */
    all,
    /** Those that wait. */
    held,
    letThrough() {
      for (const socket of held.splice(0)) {
        const onward = connect(port, "127.0.0.1");
        onward.on("error", () => undefined);
        socket.pipe(onward).pipe(socket);
      }
    },
    close() {
      for (const socket of all) socket.destroy();
      server.close();
    },
  };
}
