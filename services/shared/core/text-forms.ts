/** Forms of texts of customers that several services check (`docs/contract.md`). */

/** The name of a sender ID: 3 to 11 letters, digits, spaces, dots or dashes. */
export const SENDER_NAME = /^[A-Za-z0-9 .-]{3,11}$/;

/** A `client_reference`: 1 to 64 printable ASCII characters. */
export const CLIENT_REFERENCE = /^[\x20-\x7e]{1,64}$/;
