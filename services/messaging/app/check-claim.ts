import { invalidField } from "../../shared/core/limits.ts";

const CONNECTOR_NAME = /^[a-z0-9-]{1,64}$/;
const CARRIER_NAME = /^[A-Za-z0-9._:-]{1,128}$/;

/** Throws `validation_error` for an invalid connector id, carrier id or number of messages. */
export function checkClaim(connectorId: string, carrierId: string, max: number): void {
  if (!CONNECTOR_NAME.test(connectorId)) {
    throw invalidField("connector_id", "invalid_format", "is not a connector id");
  }
  checkCarrierName(carrierId);
  if (max <= 0) throw invalidField("max", "out_of_range", "must be at least 1");
}

/** Throws `validation_error` for an invalid carrier id. */
export function checkCarrierName(carrierId: string): void {
  if (CARRIER_NAME.test(carrierId)) return;
  throw invalidField("carrier_id", "invalid_format", "is no carrier's name");
}
