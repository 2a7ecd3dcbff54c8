/** The generated files of the clients that need no other tool, by path from the root of the repository. */
import { clientDocument } from "./document.ts";
import { pythonOperations } from "./python-operations.ts";
import { pythonTypes } from "./python-types.ts";
import { typescriptOperations } from "./typescript-operations.ts";

/** Where the types of openapi-typescript are. */
export const TYPESCRIPT_TYPES = "clients/typescript/src/generated/openapi.ts";

/** Path to text. */
export function generatedClientFiles(): Readonly<Record<string, string>> {
  const document = clientDocument();
  return {
    "clients/typescript/src/generated/operations.ts": typescriptOperations(document),
    "clients/python/src/sms_messaging/operations.py": pythonOperations(document),
    "clients/python/src/sms_messaging/types.py": pythonTypes(document),
  };
}
