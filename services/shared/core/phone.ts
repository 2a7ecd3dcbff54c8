import { type PhoneNumber, parsePhoneNumberFromString } from "libphonenumber-js/max";
import { RECIPIENT_CHARS_MAX } from "./limits.ts";
import { compactDialString } from "./phone-dial-string.ts";
import { nigerianMobile } from "./phone-nigeria.ts";

/**
 * A parsed recipient: its E.164 number, the ISO 3166 code of its country ("001" for a network of no country, as
 * in libphonenumber) and its country calling code without +.
 */
export interface ParsedRecipient {
  ok: true;
  e164: string;
  country: string;
  callingCode: string;
}

/** The text is not a mobile number in any form that a sender may use. */
export interface RefusedRecipient {
  ok: false;
  code: "invalid_recipient";
}

const REFUSED: RefusedRecipient = Object.freeze({ ok: false, code: "invalid_recipient" });

/**
 * The mobile number that a sender in Nigeria means by this text, or a refusal. Numbering plans are
 * those of libphonenumber's full metadata; a valid number that cannot be a mobile is refused.
 * Readings are tried in this order, and the first that applies decides:
 *
 * 1. `+` and digits: international, nothing else.
 * 2. `009` (Nigeria's international prefix) and an international mobile number.
 * 3. `00` (the usual prefix elsewhere) and an international mobile number. Digits that make a
 *    mobile both ways, such as 0091…, are read as dialled in Nigeria, by rule 2.
 * 4. A valid Nigerian number, with or without the trunk 0, with or without 234. If it is valid but
 *    not a mobile it is refused here, not tried as a foreign one.
 * 5. Digits that begin with a foreign country calling code, without +.
 *
 * The trunk 0 after a country code, as in +234 (0) 803…, is dropped where the country has one.
 */
export function parseRecipient(input: string): ParsedRecipient | RefusedRecipient {
  const direct = nigerianMobile(input);
  if (direct !== undefined) return acceptNigerian(direct);
  if (input.length > RECIPIENT_CHARS_MAX) return REFUSED;
  const dialled = compactDialString(input);
  if (dialled === undefined) return REFUSED;
  const national = nigerianMobile(dialled);
  if (national !== undefined) return acceptNigerian(national);
  if (dialled.startsWith("+")) return parseInternational(dialled) ?? REFUSED;
  if (dialled.startsWith("00")) {
    const fromNigeria = dialled[2] === "9" ? parseInternational(`+${dialled.slice(3)}`) : undefined;
    return fromNigeria ?? parseInternational(`+${dialled.slice(2)}`) ?? REFUSED;
  }
  const local = parsePhoneNumberFromString(dialled, { defaultCountry: "NG", extract: false });
  if (local?.country === "NG" && local.isValid()) return accept(local) ?? REFUSED;
  return parseInternational(`+${dialled}`) ?? REFUSED;
}

/**
 * The E.164 form of any valid number, also of a number that no message can reach, such as a landline; undefined for
 * other text. For text that `parseRecipient` accepts the number is the same as there.
 */
export function normaliseNumber(input: string): string | undefined {
  const recipient = parseRecipient(input);
  if (recipient.ok) return recipient.e164;
  const dialled = input.length > RECIPIENT_CHARS_MAX ? undefined : compactDialString(input);
  if (dialled === undefined) return undefined;
  for (const reading of readings(dialled)) {
    const number = parsePhoneNumberFromString(reading, { defaultCountry: "NG", extract: false });
    if (number?.isValid() === true && isE164(number.number)) return number.number;
  }
  return undefined;
}

function readings(dialled: string): string[] {
  if (dialled.startsWith("+")) return [dialled];
  if (dialled.startsWith("009")) return [`+${dialled.slice(3)}`, `+${dialled.slice(2)}`];
  if (dialled.startsWith("00")) return [`+${dialled.slice(2)}`];
  return [dialled, `+${dialled}`];
}

/**
 * A number for logs: every character but the last three digits masked. A text of three characters or fewer is
 * masked as a whole.
 */
export function maskNumber(number: string): string {
  const shown = number.length > 3 ? /\d{3}$/.exec(number)?.[0] : undefined;
  return "*".repeat(number.length - (shown?.length ?? 0)) + (shown ?? "");
}

function acceptNigerian(e164: string): ParsedRecipient {
  return { ok: true, e164, country: "NG", callingCode: "234" };
}

/** Parses `+` and digits; undefined unless the number is a mobile. */
function parseInternational(dialled: string): ParsedRecipient | undefined {
  const nigerian = nigerianMobile(dialled);
  if (nigerian !== undefined) return acceptNigerian(nigerian);
  const number = parsePhoneNumberFromString(dialled, { extract: false });
  return number === undefined ? undefined : accept(number);
}

function accept(number: PhoneNumber): ParsedRecipient | undefined {
  const type = number.getType();
  if (type !== "MOBILE" && type !== "FIXED_LINE_OR_MOBILE") return undefined;
  if (!isE164(number.number)) return undefined;
  return {
    ok: true,
    e164: number.number,
    country: number.country ?? "001",
    callingCode: number.countryCallingCode,
  };
}

/**
 * At most 15 digits (ITU-T E.164 section 6.1), although some numbering plans have longer valid numbers.
 */
function isE164(number: string): boolean {
  return number.length <= 16;
}
