/** A name server on loopback whose records a test sets and changes. */
import { createSocket } from "node:dgram";
import { isIPv6 } from "node:net";

/** The addresses of a name at its n-th query (from 0) for one record type. */
export type Answers = (name: string, asked: number) => readonly string[];

/** A running name server. */
export type DnsServer = {
  /** As `address:port`. */
  readonly address: string;
  /** Queries for A records of a name so far. */
  asked(name: string): number;
  close(): Promise<void>;
};

const TYPE_A = 1;
const TYPE_AAAA = 28;

/** Starts a name server over UDP (RFC 1035) with A and AAAA records. */
export async function startDnsServer(
  answers: Answers,
  /** Sends no response to queries for IPv6, as some servers do. */
  dropsAaaa = false,
): Promise<DnsServer> {
  const counts = new Map<string, number>();
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const { name, type, end } = readQuestion(query);
    if (dropsAaaa && type === TYPE_AAAA) return;
    const key = `${type}|${name}`;
    const asked = counts.get(key) ?? 0;
    counts.set(key, asked + 1);
    const wanted = answers(name, asked).filter((ip) => isIPv6(ip) === (type === TYPE_AAAA));
    const records = type === TYPE_A || type === TYPE_AAAA ? wanted : [];
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(records.length, 6);
    header.writeUInt32BE(0, 8);
    const question = query.subarray(12, end);
    socket.send(
      Buffer.concat([header, question, ...records.map((ip) => toRecord(ip, type))]),
      from.port,
      from.address,
    );
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked: (name) => counts.get(`${TYPE_A}|${name}`) ?? 0,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** A record with a time to live of 0; its name points to the question's. */
function toRecord(ip: string, type: number): Buffer {
  const data = type === TYPE_A ? Buffer.from(ip.split(".").map(Number)) : toBytes(ip);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function toBytes(ip: string): Buffer {
  const [left = "", right = ""] = ip.split("::");
  const words = (part: string) => (part === "" ? [] : part.split(":"));
  const missing = ip.includes("::") ? 8 - words(left).length - words(right).length : 0;
  const all = [...words(left), ...new Array<string>(missing).fill("0"), ...words(right)];
  const bytes = Buffer.alloc(16);
  all.forEach((word, at) => void bytes.writeUInt16BE(Number.parseInt(word, 16), at * 2));
  return bytes;
}
