import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";

/**
 * Trusts Node's default roots (with NODE_USE_SYSTEM_CA=1 also the system's) and the certificates of
 * one file. TLS 1.2 at least (RFC 9325 section 3.1.1). Throws when the file cannot be read.
 *
 * The file is added to Node's own store of roots: given as a list, every root would be parsed
 * again, which is a tenth of the start time.
 */
export function createTlsContext(caFile: string): SecureContext {
  const context = createSecureContext({ minVersion: "TLSv1.2" });
  if (caFile !== "") {
    for (const certificate of certificatesIn(readFileSync(caFile, "utf8"))) {
      context.context.addCACert(certificate);
    }
  }
  return context;
}

/** The certificates of a PEM file (RFC 7468 section 5), which may hold several. */
function certificatesIn(pem: string): readonly string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (found === null) throw new Error("the file has no certificate");
  return found;
}
