import { expect } from "chai";
import { rpcTlsFilesOf, tlsFilesOf } from "../../../services/shared/io/tls-files.ts";

describe("TLS files of a connection", () => {
  it("are undefined unless the environment names one", () => {
    expect(tlsFilesOf({}, "NATS")).to.equal(undefined);
    expect(tlsFilesOf({ NATS_TLS_CA_FILE: "" }, "NATS")).to.equal(undefined);
    expect(tlsFilesOf({ REDIS_TLS_CA_FILE: "/ca" }, "NATS")).to.equal(undefined);
  });

  it("are an authority alone, or with a certificate and its key", () => {
    const env = { NATS_TLS_CA_FILE: "/ca", NATS_TLS_CERT_FILE: "/crt", NATS_TLS_KEY_FILE: "/key" };
    expect(tlsFilesOf({ NATS_TLS_CA_FILE: "/ca" }, "NATS")).to.deep.equal({ caFile: "/ca" });
    expect(tlsFilesOf(env, "NATS")).to.deep.equal({
      caFile: "/ca",
      certFile: "/crt",
      keyFile: "/key",
    });
  });

  it("are refused when a certificate comes without its key, by name", () => {
    expect(() => tlsFilesOf({ MONGODB_TLS_CERT_FILE: "/crt" }, "MONGODB")).to.throw(
      "MONGODB_TLS_CERT_FILE and MONGODB_TLS_KEY_FILE belong together",
    );
  });
});

describe("TLS files of mutual TLS between services", () => {
  const all = { RPC_TLS_CERT_FILE: "/crt", RPC_TLS_KEY_FILE: "/key", RPC_TLS_CA_FILE: "/ca" };

  it("are all three or none", () => {
    expect(rpcTlsFilesOf({})).to.equal(undefined);
    expect(rpcTlsFilesOf({ RPC_TLS_CA_FILE: "" })).to.equal(undefined);
    expect(rpcTlsFilesOf(all)).to.deep.equal({
      certFile: "/crt",
      keyFile: "/key",
      caFile: "/ca",
    });
  });

  for (const name of Object.keys(all)) {
    it(`are refused without ${name}: the process would use plaintext`, () => {
      expect(() => rpcTlsFilesOf({ ...all, [name]: "" })).to.throw("go together");
    });
  }
});
