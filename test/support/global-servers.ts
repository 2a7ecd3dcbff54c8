import { startOwnServers, type TestServers } from "./servers.ts";

/**
 * Loaded by `make test` (mocha `--require`): one set of servers for the whole run, on free ports, in
 * a folder of its own. Test files that call `startServers` get these.
 */
let servers: TestServers | undefined;

export async function mochaGlobalSetup(): Promise<void> {
  servers = await startOwnServers();
  process.env.TEST_MONGODB_URI = servers.mongodbUri;
  process.env.TEST_NATS_URL = servers.natsUrl;
  process.env.TEST_REDIS_URL = servers.redisUrl;
}

export async function mochaGlobalTeardown(): Promise<void> {
  await servers?.stop();
}
