import { port, text } from "../shared/io/config.ts";

/** The simulator's settings; see README.md. */
export const SIMULATOR_SETTINGS = {
  SMSC_HOST: text("127.0.0.1"),
  SMSC_PORT: port(2775),
  SMSC_CONTROL_PORT: port(2776),
  SMSC_SYSTEM_ID: text("simulator"),
  SMSC_PASSWORD: text(),
  SMSC_TLS_CERT_FILE: text(""),
  SMSC_TLS_KEY_FILE: text(""),
};
