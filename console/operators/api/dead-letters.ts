/** Each service with dead letters: how they are listed and replayed. */
export const DEAD_LETTERS = [
  {
    name: "Wallet",
    list: "WalletService/ListDeadLetters",
    replay: "WalletService/ReplayDeadLetters",
  },
  {
    name: "Webhooks",
    list: "WebhookService/ListDeadLetters",
    replay: "WebhookService/ReplayDeadLetters",
  },
  {
    name: "Campaigns",
    list: "CampaignService/ListDeadLetters",
    replay: "CampaignService/ReplayDeadLetters",
  },
] as const;
