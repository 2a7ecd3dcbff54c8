import type { PduOf } from "../../shared/smpp/pdu.ts";
import { formatReceipt } from "../../shared/smpp/receipts.ts";
import type { TestReceipt } from "../../shared/smpp/test-numbers.ts";
import type { Delivery } from "./deliveries.ts";

/** The `stat` word and the message_state of each final state, SMPP 3.4 section 5.2.28 and appendix B. */
const ENDS = {
  delivered: { word: "DELIVRD", state: 2 },
  expired: { word: "EXPIRED", state: 3 },
  undelivered: { word: "UNDELIV", state: 5 },
} as const;

/** The error codes of the receipts: those of GSM MAP, 3GPP TS 29.002 section 17.6.6. */
const ERROR_CODES = {
  none: 0,
  unknown_subscriber: 1,
  absent_subscriber: 27,
  validity_expired: 0,
} as const;

/** The content of a receipt. */
export interface ReceiptContent {
  systemId: string;
  submit: PduOf<"submit_sm"> | PduOf<"data_sm">;
  messageId: string;
  receipt: TestReceipt;
  format: "text" | "tlv" | "both";
  number: "as_is" | "plus" | "national" | "none";
  submittedAt: Date;
}

const NUMBERS: Readonly<Record<ReceiptContent["number"], (address: string) => string>> = {
  as_is: (address) => address,
  plus: (address) => (address.startsWith("+") ? address : `+${address}`),
  // All test numbers have country codes of three digits.
  national: (address) => `0${address.replace(/^\+/, "").slice(3)}`,
  none: () => "",
};

/** Creates the deliver_sm of a receipt; its sender is the recipient of the message. */
export function receiptDelivery(content: ReceiptContent, doneAt: Date): Delivery {
  const { submit, receipt, format } = content;
  const { word, state } = ENDS[receipt.state];
  const code = ERROR_CODES[receipt.error];
  const isDecimal = receipt.idForm === "decimal";
  const messageId = isDecimal ? BigInt(`0x${content.messageId}`).toString() : content.messageId;
  const text = formatReceipt({
    messageId,
    word,
    errorCode: code.toString().padStart(3, "0"),
    submittedAt: content.submittedAt,
    doneAt,
    text: "",
  });
  const { body } = submit;
  return {
    systemId: content.systemId,
    attempts: 0,
    body: {
      sourceAddrTon: body.destAddrTon,
      sourceAddrNpi: body.destAddrNpi,
      sourceAddr: NUMBERS[content.number](body.destinationAddr).slice(0, 20),
      destAddrTon: body.sourceAddrTon,
      destAddrNpi: body.sourceAddrNpi,
      destinationAddr: body.sourceAddr.slice(0, 20),
      esmClass: 0x04,
      shortMessage: format === "tlv" ? Buffer.alloc(0) : Buffer.from(text, "latin1"),
    },
    tlvs:
      format === "text"
        ? undefined
        : {
            receiptedMessageId: messageId,
            messageState: state,
            ...(code > 0 && { networkErrorCode: Buffer.from([3, 0, code]) }),
          },
  };
}

/** Whether the submit requested a receipt of this state, SMPP 3.4 section 5.2.17. */
export function isReceiptWanted(registeredDelivery: number, receipt: TestReceipt): boolean {
  const asked = registeredDelivery & 0x03;
  return asked === 1 || (asked === 2 && receipt.state !== "delivered");
}
