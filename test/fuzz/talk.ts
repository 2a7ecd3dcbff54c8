import { connect } from "node:net";

/** Writes bytes to a local server, ends the connection, and returns the bytes received until its end. */
export function talk(port: number, octets: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect({ host: "127.0.0.1", port });
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(Buffer.concat(chunks)));
    socket.end(octets);
  });
}
