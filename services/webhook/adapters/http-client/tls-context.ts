import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";

/**
 * Whom TLS trusts: Node's default roots (with NODE_USE_SYSTEM_CA=1 the system's too), and those of
 * one file more. TLS 1.2 at least (RFC 9325 section 3.1.1). Throws when the file cannot be read.
 *
 * The file is added to the store that Node makes of its roots: given as a list of texts, each root
 * would be read again, which takes a process a tenth of its start.
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
  if (found === null) throw new Error("the file holds no certificate");
  return found;
}
