import dns from "node:dns";

/** Gives a name these IPv4 addresses in this process; other names are resolved as before. Returns the undo. */
export function replaceLookup(name: string, addresses: readonly string[]): () => void {
  const { lookup } = dns;
  dns.lookup = ((
    host: string,
    options: dns.LookupOptions,
    callback: (...of: unknown[]) => void,
  ) => {
    if (host !== name) return lookup(host, options, callback as never);
    const found = addresses.map((address) => ({ address, family: 4 }));
    setImmediate(() => (options.all ? callback(null, found) : callback(null, addresses[0], 4)));
  }) as never;
  return () => {
    dns.lookup = lookup;
  };
}
