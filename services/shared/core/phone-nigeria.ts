import { parsePhoneNumberFromString } from "libphonenumber-js/max";

/**
 * The four-digit prefixes of Nigerian mobile numbers. Most recipients are such numbers, and a lookup here
 * takes a hundredth of the time of a full parse. The table is built from libphonenumber when the module loads,
 * so it follows the metadata. It only confirms: numbers that it does not hold go to the full parse. Ranges are
 * allotted by four digits (Nigerian Communications Commission, National Numbering Plan); a property test
 * compares the table with the library.
 */
const MOBILE_OPENINGS = new Uint8Array(10_000);

// Both ends of each range must be mobile numbers; otherwise a range allotted in part would count as whole.
for (let opening = 7000; opening < 10_000; opening++) {
  if (isMobile(`+234${opening}000000`) && isMobile(`+234${opening}999999`)) {
    MOBILE_OPENINGS[opening] = 1;
  }
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
  return MOBILE_OPENINGS[opening] === 1 ? `+234${text.slice(start)}` : undefined;
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

function isMobile(e164: string): boolean {
  return parsePhoneNumberFromString(e164)?.getType() === "MOBILE";
}
