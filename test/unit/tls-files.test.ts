import { expect } from "chai";
import { tlsFilesOf } from "../../services/shared/io/tls-files.ts";

describe("certificate files of a connection", () => {
  it("are none unless the environment names one", () => {
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
