import { AppError } from "../../shared/core/errors.ts";
import { SERVICE_ADDRESSES } from "../../shared/service-addresses.ts";
import { ADDRESS_SETTINGS } from "../calls/addresses.ts";
import { contextSettings, readContexts, writeContexts } from "../calls/contexts.ts";
import type { CommandContext, Run } from "../cli/command.ts";

const TLS = {
  "tls-cert": "RPC_TLS_CERT_FILE",
  "tls-key": "RPC_TLS_KEY_FILE",
  "tls-ca": "RPC_TLS_CA_FILE",
} as const;

export const list: Run = async ({ output }) => {
  const { current, contexts } = readContexts(process.env);
  const rows = Object.entries(contexts).map(([name, settings]) => ({
    name,
    current: name === current,
    services: Object.values(SERVICE_ADDRESSES)
      .filter(({ setting }) => settings[setting] !== undefined)
      .map(({ name }) => name),
    // A token is never shown.
    has_token: settings.RPC_TOKEN !== undefined,
    stack: settings.STACK_DIR ?? "",
  }));
  await output.list(rows, { columns: ["name", "current", "has_token", "stack", "services…"] });
  return 0;
};

export const use: Run = async ({ options, output }) => {
  const name = options.word(0, "The context's name");
  contextSettings(process.env, name);
  writeContexts(process.env, { ...readContexts(process.env), current: name });
  await output.result({ name, current: true });
  return 0;
};

export const set: Run = async ({ options, output }) => {
  const name = options.word(0, "The context's name");
  if (!/^[\w.-]{1,64}$/.test(name)) {
    throw new AppError(
      "validation_error",
      "A context's name has letters, digits, dots and hyphens.",
    );
  }
  const given = givenSettings(options);
  if (Object.keys(given).length === 0) {
    throw new AppError("validation_error", "Nothing is to be set: give --from-env or an address.");
  }
  const { current, contexts } = readContexts(process.env);
  const settings = { ...contexts[name], ...given };
  // The first context is the current one, as otherwise it would have no effect.
  writeContexts(process.env, {
    current: current ?? name,
    contexts: { ...contexts, [name]: settings },
  });
  await output.result({
    name,
    current: (current ?? name) === name,
    settings: Object.keys(settings),
  });
  return 0;
};

export const remove: Run = async ({ options, output }) => {
  const name = options.word(0, "The context's name");
  contextSettings(process.env, name);
  const { current, contexts } = readContexts(process.env);
  const { [name]: _removed, ...rest } = contexts;
  writeContexts(process.env, { current: current === name ? undefined : current, contexts: rest });
  await output.result({ name, removed: true });
  return 0;
};

function givenSettings(options: CommandContext["options"]): Record<string, string> {
  const names = [...ADDRESS_SETTINGS, ...Object.values(TLS)];
  const inherited = options.isSet("from-env")
    ? names.flatMap((name) => (process.env[name] ? [[name, process.env[name]] as const] : []))
    : [];
  const addresses = Object.values(SERVICE_ADDRESSES).map(
    ({ setting }) => [setting, setting.toLowerCase().replaceAll("_", "-")] as const,
  );
  const tls = Object.entries(TLS).map(([option, setting]) => [setting, option] as const);
  const named = [...addresses, ...tls, ["CARRIER_OPS", "carrier-ops"], ["STACK_DIR", "stack"]];
  const given = named.flatMap(([setting = "", option = ""]) => {
    const value = options.named(option);
    return value === undefined ? [] : [[setting, value] as const];
  });
  const token = options.file("token-file")?.trim();
  const tokens = token === undefined ? [] : [["RPC_TOKEN", token] as const];
  return Object.fromEntries([...inherited, ...given, ...tokens]) as Record<string, string>;
}
