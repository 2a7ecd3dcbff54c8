/** A file of a site, ready to be sent. All responses share its bytes. */
import { createHash } from "node:crypto";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** The forms of a body, the smallest first. */
export const ENCODINGS = ["br", "gzip", "identity"] as const;

export type Encoding = (typeof ENCODINGS)[number];

export type SiteFile = {
  readonly path: string;
  readonly type: string;
  /** Whether the path names this content for ever. */
  readonly isImmutable: boolean;
  readonly hash: string;
  readonly bodies: Readonly<Record<Encoding, Uint8Array>>;
};

/** The file of the page for addresses that do not exist; no request's path is equal to it. */
export const NOT_FOUND_PATH = "404";

/** Compresses a body; `brotli` is given for one that was compressed ahead. */
export function siteFile(
  path: string,
  type: string,
  body: Buffer | string,
  options: { readonly isImmutable?: boolean; readonly brotli?: Buffer } = {},
): SiteFile {
  const identity = typeof body === "string" ? Buffer.from(body) : body;
  const hash = createHash("sha256").update(identity).digest("hex").slice(0, 20);
  const br = options.brotli ?? compress(identity);
  const bodies = { br, gzip: gzipSync(identity), identity };
  return { path, type, isImmutable: options.isImmutable ?? false, hash, bodies };
}

/** Higher qualities take several times as long and save a few percent. */
function compress(body: Buffer): Buffer {
  return brotliCompressSync(body, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 9,
      [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
    },
  });
}
