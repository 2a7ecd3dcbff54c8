import { UsageDimension, type UsageGroup } from "../../proto/gen/sms/v1/messaging_pb.js";
import { formatAmount } from "../../services/shared/core/money.ts";
import type { GROUP_NAMES } from "../schemas/usage.ts";
import { textOrNull } from "./message.ts";

/** The dimensions of groups, by public name. */
export const DIMENSIONS: Readonly<Record<(typeof GROUP_NAMES)[number], UsageDimension>> = {
  day: UsageDimension.DAY,
  hour: UsageDimension.HOUR,
  status: UsageDimension.STATUS,
  country: UsageDimension.COUNTRY,
  sender_id: UsageDimension.SENDER_ID,
  key: UsageDimension.KEY,
  campaign: UsageDimension.CAMPAIGN,
};

const MEMBERS: Readonly<
  Record<keyof typeof DIMENSIONS, (group: UsageGroup) => Record<string, string | null>>
> = {
  day: ({ day }) => ({ day }),
  hour: ({ hour }) => ({ hour }),
  status: ({ status }) => ({ status }),
  country: ({ country }) => ({ country: country === "ZZ" ? null : country }),
  sender_id: ({ senderId }) => ({ sender_id: senderId }),
  key: ({ apiKeyId }) => ({ api_key_id: textOrNull(apiKeyId) }),
  campaign: ({ campaignId }) => ({ campaign_id: textOrNull(campaignId) }),
};

type Counts = Pick<UsageGroup, "messages" | "segments" | "amount">;

/** Renders a group: the values that it was grouped by, and its counts. */
export function renderUsageGroup(
  names: readonly (keyof typeof DIMENSIONS)[],
  group: UsageGroup,
): Record<string, unknown> {
  const members = names.map((name) => MEMBERS[name](group));
  return { ...Object.assign({}, ...members), ...renderCounts(group) };
}

/** Renders the sum of groups. */
export function renderUsageTotal(groups: readonly Counts[]) {
  const total = groups.reduce<Counts>(
    (sum, group) => ({
      messages: sum.messages + group.messages,
      segments: sum.segments + group.segments,
      amount: sum.amount + group.amount,
    }),
    { messages: 0n, segments: 0n, amount: 0n },
  );
  return renderCounts(total);
}

function renderCounts({ messages, segments, amount }: Counts) {
  return {
    messages: Number(messages),
    segments: Number(segments),
    amount: formatAmount(amount),
  };
}
