/**
 * Callers from settings that keep lists and secrets apart: `RPC_CALLERS` is a JSON object of methods by caller,
 * `{"gateway": ["sms.v1.WalletService/GetWallet"]}`, and `RPC_TOKEN_OF_GATEWAY` is that caller's token. A server
 * also accepts `RPC_OTHER_TOKEN_OF_GATEWAY` where it is set, so that a token can be replaced without a gap.
 */
import { ConfigError } from "../io/config.ts";
import { parseObject, type RpcCaller, readMethods, usableToken } from "./auth.ts";

/** Throws a `ConfigError` that names the fault, never a token. */
export function readListedCallers(env: NodeJS.ProcessEnv): RpcCaller[] {
  const lists = Object.entries(parseObject("RPC_CALLERS", env.RPC_CALLERS ?? ""));
  if (lists.length === 0) throw new ConfigError(["RPC_CALLERS must name a caller"]);
  return lists.map(([name, methods]) => {
    const own = tokenSettings(name);
    const tokens = Object.values(own).flatMap((setting) => {
      const token = env[setting] ?? "";
      return token === "" ? [] : [usableToken(setting, token)];
    });
    if (!env[own.token]) throw new ConfigError([`${own.token} is required`]);
    return { name, tokens, methods: readMethods(`RPC_CALLERS.${name}`, methods) };
  });
}

/** The settings that hold a caller's tokens. */
export function tokenSettings(caller: string): { readonly token: string; readonly other: string } {
  const name = caller.toUpperCase().replaceAll("-", "_");
  return { token: `RPC_TOKEN_OF_${name}`, other: `RPC_OTHER_TOKEN_OF_${name}` };
}
