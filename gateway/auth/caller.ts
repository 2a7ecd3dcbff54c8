import type { Mode } from "../../proto/gen/sms/v1/common_pb.js";

/** The caller: its key and tenant, as last confirmed by the tenant service. */
export type Caller = {
  readonly keyId: string;
  readonly tenantId: string;
  readonly mode: Mode.LIVE | Mode.TEST;
  readonly scopes: ReadonlySet<string>;
  readonly allowsAddress: (address: string) => boolean;
  readonly isSuspended: boolean;
  readonly isEmailVerified: boolean;
  readonly rateLimit: number;
  readonly burst: number;
  readonly bulkMax: number;
  readonly currency: string;
};
