import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { expect } from "chai";
import {
  Health,
  HealthCheckResponse_ServingStatus,
} from "../../../proto/gen/grpc/health/v1/health_pb.js";
import type { RpcTlsFiles } from "../../../services/shared/rpc/mutual-tls.ts";
import { eventually } from "../../support/poll.ts";
import { createTestAuthority, type Pair } from "../../support/rpc-certificates.ts";
import { EchoService } from "../../support/rpc-echo.ts";
import { createRpcLinks, routesOf } from "../../support/rpc-links.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const serverName = "localhost";
const routes = routesOf((router) =>
  router.service(EchoService, { say: () => ({ value: "received" }) }),
);

describe("mutual TLS from files", () => {
  const links = createRpcLinks();
  let folder: string;

  beforeEach(() => {
    folder = temporaryFolder("tls");
  });
  afterEach(async () => {
    await links.close();
  });

  it("server and client use new certificates and authorities without a restart", async () => {
    const [old, next] = [createTestAuthority(), createTestAuthority()];
    const server = write("server", old.server(), old.ca);
    const client = write("client", old.client("gateway"), old.ca);
    // A short connection age makes the client reconnect again and again.
    const options = { routes, tls: server, maxConnectionAgeMs: 50, maxConnectionAgeGraceMs: 50 };
    const { target } = await links.serve(options);
    const transport = links.connect({ target, tls: { ...client, serverName } });
    const call = () => createClient(EchoService, transport).say({}, { timeoutMs: 2000 });
    expect((await eventually(call)).value).to.equal("received");

    write("server", next.server(), next.ca);
    const refusal = await eventually(() => failure(call()), { what: "the old client's refusal" });
    expect(refusal).to.match(/unavailable/);

    write("client", next.client("gateway"), next.ca);
    expect((await eventually(call)).value).to.equal("received");
  });

  it("a missing file fails the start", async () => {
    const authority = createTestAuthority();
    const files = write("server", authority.server(), authority.ca);
    const missing = { ...files, keyFile: join(folder, "nothing.key") };
    expect(await failure(links.serve({ routes, tls: missing }))).to.match(/nothing\.key/);
  });

  it("probes without a certificate get health, and nothing else, on a separate port", async () => {
    const authority = createTestAuthority();
    const tls = write("server", authority.server(), authority.ca);
    const { server } = await links.serve({ routes, tls });
    const probed = await links.serve({ routes: () => {}, health: server.health });
    const transport = links.connect({ target: probed.target });
    const health = createClient(Health, transport);
    const ask = () => health.check({ service: EchoService.typeName });
    expect((await ask()).status).to.equal(HealthCheckResponse_ServingStatus.SERVING);
    const other = await failure(createClient(EchoService, transport).say({}));
    expect(other).to.match(/unimplemented/);
    await server.drain(0);
    expect((await ask()).status).to.equal(HealthCheckResponse_ServingStatus.NOT_SERVING);
  });

  /** Replaces the files atomically, as a mounted Secret does. */
  function write(name: string, { cert, key }: Pair, ca: Buffer): RpcTlsFiles {
    const put = (extension: string, contents: Buffer) => {
      const file = join(folder, `${name}.${extension}`);
      writeFileSync(`${file}.new`, contents);
      renameSync(`${file}.new`, file);
      return file;
    };
    return {
      certFile: put("crt", cert),
      keyFile: put("key", key),
      caFile: put("ca", ca),
      refreshMs: 25,
    };
  }
});

async function failure(call: Promise<unknown>): Promise<string | undefined> {
  return call.then(
    () => undefined,
    (error: unknown) => String(error),
  );
}
