import type { FuzzTarget } from "./run-target.ts";
import { answerTarget } from "./targets/answer.ts";
import { cursorTarget } from "./targets/cursor.ts";
import { httpTarget } from "./targets/http.ts";
import { jsonTarget } from "./targets/json.ts";
import { phoneTarget } from "./targets/phone.ts";
import { receiptTarget } from "./targets/receipt.ts";
import { receiptRequestTarget } from "./targets/receipt-request.ts";
import { smppTarget } from "./targets/smpp.ts";
import { smppClientTarget } from "./targets/smpp-client.ts";
import { smppLinkTarget } from "./targets/smpp-link.ts";

/** All consumers of outside input. */
export const FUZZ_TARGETS: readonly FuzzTarget[] = [
  phoneTarget,
  receiptTarget,
  cursorTarget,
  smppTarget,
  jsonTarget,
  httpTarget,
  smppLinkTarget,
  smppClientTarget,
  receiptRequestTarget,
  answerTarget,
];
