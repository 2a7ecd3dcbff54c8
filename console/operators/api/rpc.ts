/** Calls of services, in protobuf JSON: integers of 64 bits are texts, enumerations are names. */
import { call } from "../../api/http.ts";

/** Calls `TenantService/GetTenant`; throws `ApiProblem`. */
export function rpc<T>(method: string, request: object = {}, signal?: AbortSignal): Promise<T> {
  const path = `/operators/api/rpc/sms.v1.${method}`;
  return call<T>("POST", path, { body: request, ...(signal === undefined ? {} : { signal }) });
}
