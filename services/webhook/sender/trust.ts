import { readFileSync } from "node:fs";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";

/**
 * Whom TLS trusts: the default roots, the system's, and those of one file more. TLS 1.2 at least
 * (RFC 9325 section 3.1.1). Throws when the file cannot be read.
 */
export function createTrust(caFile: string): SecureContext {
  const certificates = [...getCACertificates("default"), ...getCACertificates("system")];
  if (caFile !== "") certificates.push(readFileSync(caFile, "utf8"));
  return createSecureContext({ ca: [...new Set(certificates)], minVersion: "TLSv1.2" });
}
