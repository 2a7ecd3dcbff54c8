import { parsePhoneNumberFromString } from "libphonenumber-js/max";

/**
 * The answers by the first four digits of a number: 0 is unknown, 1 means that all are mobile numbers, 2 that not all
 * are. Most recipients have Nigerian mobile numbers, and a lookup here takes a hundredth of the time of a full parse.
 * libphonenumber gives each answer on first use, so the table follows its metadata. The table only confirms: other
 * numbers go to the full parse. Ranges are allotted by four digits (Nigerian Communications Commission, National
 * Numbering Plan); a property test compares the table with the library.
 */
const OPENINGS = new Uint8Array(10_000);

function isMobileOpening(opening: number): boolean {
  if (OPENINGS[opening] === 0) {
    const digits = String(opening).padStart(4, "0");
    // Both ends of a range must be mobile numbers; otherwise a range allotted in part would count as whole.
    const isMobile = isMobileNumber(`+234${digits}000000`) && isMobileNumber(`+234${digits}999999`);
    OPENINGS[opening] = isMobile ? 1 : 2;
  }
  return OPENINGS[opening] === 1;
}

/**
 * The E.164 number of a Nigerian mobile number written without separators: ten digits alone or after `0`,
 * `234`, `2340`, `+234` or `+2340`. Undefined for any other text.
 */
export function nigerianMobile(text: string): string | undefined {
  const start = text.length - 10;
  if (start < 0 || start > 5 || !isPrefix(text, start)) return undefined;
  let opening = 0;
  for (let at = start; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    if (at < start + 4) opening = opening * 10 + digit;
  }
  return isMobileOpening(opening) ? `+234${text.slice(start)}` : undefined;
}

function isPrefix(text: string, length: number): boolean {
  switch (length) {
    case 0:
      return true;
    case 1:
      return text.startsWith("0");
    case 3:
      return text.startsWith("234");
    case 4:
      return text.startsWith("+234") || text.startsWith("2340");
    case 5:
      return text.startsWith("+2340");
    default:
      return false;
  }
}

function isMobileNumber(e164: string): boolean {
  return parsePhoneNumberFromString(e164)?.getType() === "MOBILE";
}
