/** How deep objects and arrays may nest; no request of the contract needs more than three. */
export const JSON_DEPTH_MAX = 64;
