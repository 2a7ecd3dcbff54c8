/**
 * Checks objects against the Kubernetes API's own description, as strictly as kubeconform's
 * `-strict`: a field that the API does not know is a fault. The description comes with the Go module
 * k8s.io/kubernetes, so Go must be there (or a swagger.json be named by `$KUBE_OPENAPI`).
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import type { KubeObject } from "./kube-types.ts";

const KUBERNETES = "v1.34.4";

type Definition = {
  type?: string;
  format?: string;
  properties?: Record<string, unknown>;
  additionalProperties?: unknown;
  "x-kubernetes-group-version-kind"?: { group: string; version: string; kind: string }[];
  "x-kubernetes-preserve-unknown-fields"?: boolean;
};

export type Definitions = Readonly<Record<string, Definition>>;

/** The faults of an object, `undefined` when the description does not know its kind. */
export type KubeValidator = (object: KubeObject) => string[] | undefined;

/** The API's description with every object closed, or the reason why there is none. */
export function strictDefinitions(): { definitions: Definitions } | { missing: string } {
  const file = process.env.KUBE_OPENAPI ?? fileOfModule();
  if (file === undefined || !existsSync(file)) {
    return { missing: "neither Go nor $KUBE_OPENAPI gives the Kubernetes API's description" };
  }
  const { definitions } = JSON.parse(readFileSync(file, "utf8")) as { definitions: Definitions };
  for (const [name, definition] of Object.entries(definitions)) makeStrict(name, definition);
  return { definitions };
}

/** A validator, or the reason why there is none. */
export function openKubeValidator(): { validate: KubeValidator } | { missing: string } {
  const opened = strictDefinitions();
  if ("missing" in opened) return opened;
  const { definitions } = opened;
  const names = new Map<string, string>();
  for (const [name, definition] of Object.entries(definitions)) {
    for (const { group, version, kind } of definition["x-kubernetes-group-version-kind"] ?? []) {
      names.set(`${group === "" ? "" : `${group}/`}${version} ${kind}`, name);
    }
  }
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ $id: "kubernetes", definitions });
  const known = new Map<string, ValidateFunction>();
  return {
    validate(object) {
      const name = names.get(`${object.apiVersion} ${object.kind}`);
      if (name === undefined) return undefined;
      const check = known.get(name) ?? ajv.compile({ $ref: `kubernetes#/definitions/${name}` });
      known.set(name, check);
      if (check(object)) return [];
      return (check.errors ?? []).map(
        ({ instancePath, message, params }) =>
          `${instancePath} ${message} ${JSON.stringify(params)}`,
      );
    },
  };
}

/** Two types are wider on the wire than in the description; everything else becomes closed. */
function makeStrict(name: string, definition: Definition): void {
  if (name.endsWith(".IntOrString") || name.endsWith(".Quantity")) {
    delete definition.type;
    Object.assign(definition, { type: ["string", "number"] });
    return;
  }
  const isOpen = definition["x-kubernetes-preserve-unknown-fields"] === true;
  if (definition.properties !== undefined && !isOpen) definition.additionalProperties = false;
}

function fileOfModule(): string | undefined {
  const run = spawnSync("go", ["mod", "download", "-json", `k8s.io/kubernetes@${KUBERNETES}`], {
    cwd: "/",
    encoding: "utf8",
    timeout: 120_000,
  });
  if (run.status !== 0) return undefined;
  const { Dir } = JSON.parse(run.stdout) as { Dir: string };
  return join(Dir, "api/openapi-spec/swagger.json");
}
