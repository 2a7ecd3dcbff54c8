/** Writes one log line. `fields` must hold no body, full phone number or secret. */
type WriteLine = {
  (fields: object, message?: string): void;
  (message: string): void;
};

/** The logger that use cases, stores and adapters receive; `shared/io/log.ts` creates it. */
export type Logger = {
  readonly debug: WriteLine;
  readonly info: WriteLine;
  readonly warn: WriteLine;
  readonly error: WriteLine;
};
