import type { Agent } from "node:https";
import type { LookupFunction } from "node:net";
import type { SecureContext } from "node:tls";
import { ResumingAgent, type TlsSessions } from "./resuming-agent.ts";

/** One keep-alive pool per endpoint. */
export type Agents = {
  /** The endpoint's pool, made when missing. */
  get(endpointId: string): Agent;
  /** Makes connections that are used once. */
  readonly oneOff: Agent;
  close(): void;
};

/** A free connection is closed after this long, in milliseconds. */
const IDLE_MS = 30_000;

/**
 * Makes the pools. An endpoint's pool is its own, so one endpoint's sockets never wait behind
 * another's; the least recently used pool is closed beyond `poolsMax`. The context is shared:
 * reading some hundred certificates for each connection would cost more than the handshake.
 * No proxy of the environment is used: requests go where the address rules were checked.
 */
export function createAgents(options: {
  readonly secureContext: SecureContext;
  readonly lookup: LookupFunction;
  /** How long one address of a name may take to connect before the next one is tried. */
  readonly addressTimeoutMs: number;
  readonly socketsMax: number;
  readonly poolsMax: number;
}): Agents {
  const agents = new Map<string, Agent>();
  const connecting = {
    secureContext: options.secureContext,
    lookup: options.lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: options.addressTimeoutMs,
    timeout: IDLE_MS,
    // Said aloud, because NODE_TLS_REJECT_UNAUTHORIZED of the environment would turn it off.
    rejectUnauthorized: true,
  };
  const sessions: TlsSessions = new Map();
  const oneOff = new ResumingAgent({ ...connecting, keepAlive: false }, sessions);

  return {
    oneOff,
    get(endpointId) {
      let agent = agents.get(endpointId);
      if (agent !== undefined) {
        agents.delete(endpointId);
      } else {
        const { socketsMax } = options;
        const pooled = { keepAlive: true, maxSockets: socketsMax, maxFreeSockets: socketsMax };
        agent = new ResumingAgent({ ...pooled, scheduling: "lifo", ...connecting }, sessions);
      }
      agents.set(endpointId, agent);
      if (agents.size > options.poolsMax) {
        const [oldest] = agents;
        if (oldest !== undefined) {
          agents.delete(oldest[0]);
          closeIdle(oldest[1]);
        }
      }
      return agent;
    },
    close() {
      for (const agent of agents.values()) agent.destroy();
      oneOff.destroy();
      agents.clear();
    },
  };
}

/** Closes free sockets; those in use end with their request, because keep-alive is off now. */
function closeIdle(agent: Agent): void {
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
  agent.maxFreeSockets = 0;
}
