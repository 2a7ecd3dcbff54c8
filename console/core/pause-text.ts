const TEXTS: Readonly<Record<string, string>> = {
  customer: "A member of this account paused it.",
  insufficient_balance:
    "The balance did not cover the next messages. Fund the account, then resume.",
  budget_reached: "The budget is used up.",
  sender_id_not_approved: "The sender ID can no longer be used.",
  tenant_suspended: "The account is suspended.",
};

/** Why a campaign is paused, and what to do. */
export function pauseText(reason: string | null): string {
  return reason === null ? "" : (TEXTS[reason] ?? reason.replaceAll("_", " "));
}
