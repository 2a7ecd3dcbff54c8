/** The counts of messages, as RPC. */
import type { ServiceImpl } from "@connectrpc/connect";
import { type MessagingService, UsageDimension } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { checkItems, checkKnown, invalidField } from "../../shared/core/limits.ts";
import { readMode } from "../../shared/rpc/mode.ts";
import type { Usage } from "../app/usage.ts";
import { type UsageDimension as Dimension, USAGE_DIMENSIONS } from "../domain/usage.ts";

const DIMENSIONS: Readonly<Partial<Record<UsageDimension, Dimension>>> = {
  [UsageDimension.DAY]: "day",
  [UsageDimension.HOUR]: "hour",
  [UsageDimension.STATUS]: "status",
  [UsageDimension.COUNTRY]: "country",
  [UsageDimension.SENDER_ID]: "sender_id",
  [UsageDimension.KEY]: "key",
  [UsageDimension.CAMPAIGN]: "campaign",
};

const TIME_ZONE_CHARS_MAX = 64;

/** The handlers of usage. */
export function usageMethods({
  usage,
}: {
  readonly usage: Usage;
}): Pick<ServiceImpl<typeof MessagingService>, "getUsage"> {
  return {
    async getUsage({ tenantId, mode, fromMs, toMs, groupBy, timeZone }) {
      checkItems("group_by", groupBy.length, 0, USAGE_DIMENSIONS.length);
      if (timeZone.length > TIME_ZONE_CHARS_MAX) {
        throw invalidField("time_zone", "too_long", "is too long");
      }
      const { groups, asOfMs } = await usage.query({
        tenantId,
        mode: checkKnown("mode", readMode(mode)),
        ...{ fromMs: Number(fromMs), toMs: Number(toMs) },
        groupBy: groupBy.map((name) => checkKnown("group_by", DIMENSIONS[name])),
        timeZone: timeZone === "" ? "UTC" : timeZone,
      });
      return {
        asOfMs: BigInt(asOfMs),
        groups: groups.map(({ values, messages, segments, amount }) => ({
          ...{ day: values.day ?? "", status: values.status ?? "", country: values.country ?? "" },
          hour: values.hour ?? "",
          senderId: values.sender_id ?? "",
          apiKeyId: values.key ?? "",
          campaignId: values.campaign ?? "",
          ...{ messages: BigInt(messages), segments: BigInt(segments), amount },
        })),
      };
    },
  };
}
