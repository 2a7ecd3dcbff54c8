/**
 * The share of one address in the connections. Without it a hundred silent sockets from one address could take
 * all of `CONNECTIONS_MAX`. Only connections without a valid key so far count: behind a load balancer all clients
 * may have its address.
 */
import type { Socket } from "node:net";
import { type AddressMatcher, networkOf } from "../auth/caller-address.ts";

/** Counts the connections of each address. */
export type ConnectionShares = {
  /** Counts a new connection. Beyond the share, closes the oldest counted connection of the same address. */
  add(socket: Socket): void;
  /** Ends the count of a connection that has sent a valid key. */
  trust(socket: Socket): void;
};

/** Creates the shares. Addresses for which `isExempt` is true, such as trusted proxies, have no limit. */
export function createConnectionShares(max: number, isExempt: AddressMatcher): ConnectionShares {
  /** Counted connections by network, the oldest first. */
  const byNetwork = new Map<string, Set<Socket>>();
  const networks = new WeakMap<Socket, string>();

  function remove(socket: Socket): void {
    const network = networks.get(socket);
    if (network === undefined) return;
    networks.delete(socket);
    const counted = byNetwork.get(network);
    counted?.delete(socket);
    if (counted?.size === 0) byNetwork.delete(network);
  }

  return {
    add(socket) {
      const { remoteAddress } = socket;
      // The peer may be gone already.
      if (remoteAddress === undefined || isExempt(remoteAddress)) return;
      const network = networkOf(remoteAddress);
      const counted = byNetwork.get(network) ?? new Set();
      byNetwork.set(network, counted.add(socket));
      networks.set(socket, network);
      socket.once("close", () => remove(socket));
      const [oldest] = counted;
      if (counted.size <= max || oldest === undefined) return;
      remove(oldest);
      oldest.destroy();
    },
    trust: remove,
  };
}
