import { connect } from "node:net";

/** Writes octets to a server of this machine, ends, and gives back what came until the other side ended too. */
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
