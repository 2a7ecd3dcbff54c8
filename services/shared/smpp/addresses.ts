/** An SMPP address. */
export interface Address {
  ton: number;
  npi: number;
  address: string;
}

/** Overrides of a connector for type of number and numbering plan. */
export interface AddressOverride {
  ton?: number;
  npi?: number;
  /** Writes international numbers with their plus sign. */
  hasPlus?: boolean;
}

/** Type of number, SMPP 3.4 section 5.2.5. */
export const TON = {
  unknown: 0,
  international: 1,
  national: 2,
  networkSpecific: 3,
  alphanumeric: 5,
} as const;
/** Numbering plan indicator, SMPP 3.4 section 5.2.6. */
export const NPI = { unknown: 0, isdn: 1 } as const;

const SHORT_CODE_DIGITS_MAX = 8;

/** Writes a recipient in E.164 form: international, ISDN, digits only. */
export function recipientAddress(e164: string, override: AddressOverride = {}): Address {
  const digits = e164.startsWith("+") ? e164.slice(1) : e164;
  return {
    ton: override.ton ?? TON.international,
    npi: override.npi ?? NPI.isdn,
    address: override.hasPlus === true ? `+${digits}` : digits,
  };
}

/**
 * Writes a sender ID: letters make it alphanumeric; up to eight digits are a short code; a leading
 * zero makes a national number; all other digits are international.
 */
export function senderAddress(sender: string, override: AddressOverride = {}): Address {
  const { ton, npi, address } = classifySender(sender);
  const isNumber = ton === TON.international;
  return {
    ton: override.ton ?? ton,
    npi: override.npi ?? npi,
    address: isNumber && override.hasPlus === true ? `+${address}` : address,
  };
}

function classifySender(sender: string): Address {
  const digits = sender.startsWith("+") ? sender.slice(1) : sender;
  if (!/^[0-9]+$/.test(digits)) {
    return { ton: TON.alphanumeric, npi: NPI.unknown, address: sender };
  }
  if (digits === sender && digits.length <= SHORT_CODE_DIGITS_MAX) {
    return { ton: TON.networkSpecific, npi: NPI.unknown, address: digits };
  }
  if (digits === sender && digits.startsWith("0")) {
    return { ton: TON.national, npi: NPI.isdn, address: digits };
  }
  return { ton: TON.international, npi: NPI.isdn, address: digits };
}
