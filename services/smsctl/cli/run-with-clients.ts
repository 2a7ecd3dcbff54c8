import { watch } from "../../shared/cli/watch.ts";
import { setProcessDefaults } from "../../shared/io/process-defaults.ts";
import { runAsActor } from "../../shared/rpc/call-context.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { localActor } from "../calls/actor.ts";
import { openClients } from "../calls/clients.ts";
import type { CommandContext, Run } from "./command.ts";

/** Runs a command as a person; returns its exit code. With `--watch` it ends only by a signal. */
export async function runWithClients(
  context: Omit<CommandContext, "clients">,
  act: Run,
): Promise<number> {
  const { options, output } = context;
  setProcessDefaults(process.env);
  const clients = openClients(process.env, options.optional("context"));
  const once = () => runAsActor(localActor(options), () => act({ ...context, clients }));
  try {
    if (options.isSet("watch")) await watch(output, once, toAppError);
    return (await once()) ?? 0;
  } finally {
    clients.close();
  }
}
