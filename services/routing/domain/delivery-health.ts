/** The delivery health of a connector or one of its countries, as the carrier reports it. */
export type DeliveryHealth = {
  readonly connectorId: string;
  /** Empty for all countries. */
  readonly country: string;
  readonly state: string;
  readonly submitted: number;
  readonly delivered: number;
  readonly undelivered: number;
  readonly rate: number | undefined;
  readonly baselineRate: number | undefined;
  readonly withoutReceiptHour: number;
  readonly withoutReceiptDay: number;
  readonly reportedAtMs: number;
};
