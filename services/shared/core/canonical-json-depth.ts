/** The nesting limit of objects and arrays; no request of the contract needs more than three levels. */
export const JSON_DEPTH_MAX = 64;
