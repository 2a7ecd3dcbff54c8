import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { ROOT } from "../../deploy/dev/paths.ts";

const GENERATED = join(ROOT, "proto/gen/sms/v1");

/** One RPC: its descriptor, and its name as in `sms.v1.WalletService/GetWallet`. */
export type RpcMethod = { readonly name: string; readonly desc: DescMethod };

/** Every RPC of every service that the generated code knows, so that a new one is among them. */
export async function allRpcMethods(): Promise<RpcMethod[]> {
  const files = readdirSync(GENERATED).filter((name) => name.endsWith("_pb.js"));
  const modules = await Promise.all(files.map((name) => import(join(GENERATED, name))));
  return modules
    .flatMap((module: Record<string, unknown>) => Object.values(module))
    .filter(isService)
    .flatMap(({ typeName, methods }) =>
      methods.map((desc) => ({ name: `${typeName}/${desc.name}`, desc })),
    );
}

function isService(value: unknown): value is DescService {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "service";
}
