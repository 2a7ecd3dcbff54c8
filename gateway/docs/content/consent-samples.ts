/** Sample responses of inbound messages and suppressions; a test validates each against its schema. */

/** A message from a handset. */
export const INBOUND_EXAMPLE = {
  id: "inb_01M6DSG7HXT9W4M2N8R7C3D6EH",
  object: "inbound_message",
  from: "+2348031234567",
  to: "2442",
  body: "STOP",
  encoding: "gsm7",
  parts: 1,
  complete: true,
  action: "opt_out",
  received_at: "2026-11-02T09:30:00.125Z",
} as const;

/** A suppression. */
export const SUPPRESSION_EXAMPLE = {
  object: "suppression",
  number: "+2348031234567",
  sender_id: null,
  source: "keyword",
  reason: "STOP",
  created_at: "2026-11-02T09:30:00.125Z",
} as const;

/** Body of new suppressions. */
export const NEW_SUPPRESSIONS_EXAMPLE = {
  suppressions: [{ number: "+2348031234567", reason: "asked on the phone" }],
} as const;

/** A file of suppressions. */
export const SUPPRESSIONS_CSV_EXAMPLE =
  "number,sender,reason\r\n+2348031234567,,asked on the phone\r\n";

/** Suppressions as a file. */
export const SUPPRESSION_LIST_CSV_EXAMPLE =
  "number,sender,source,reason,created_at\r\n+2348031234567,,keyword,STOP,2026-11-02T09:30:00.125Z\r\n";

/** The result of an import of suppressions. */
export const SUPPRESSION_IMPORT_EXAMPLE = {
  object: "suppression_import",
  added: 1,
  unchanged: 0,
  rejected: 0,
  faults: [],
} as const;
