import type { Caller, CallOptions } from "../call.ts";
import { createList, csvPages, type List } from "../list.ts";
import type { BodyOf, EntryOf, QueryOf } from "../operation-types.ts";
import { type CsvFile, fetchData } from "./resource.ts";

/** Campaigns: one text with placeholders to many recipients. */
export function campaignMethods(call: Caller) {
  const one = (campaign_id: string) => ({ path: { campaign_id } });
  const campaigns = {
    /** Newest first. */
    list: (
      query: QueryOf<"listCampaigns"> = {},
      options: CallOptions = {},
    ): List<EntryOf<"listCampaigns">> => createList(call, "listCampaigns", { query }, options),
    /** Creates a draft. */
    create: (body: BodyOf<"createCampaign">, options: CallOptions = {}) =>
      fetchData(call, "createCampaign", { body }, options),
    get: (id: string, options: CallOptions = {}) =>
      fetchData(call, "getCampaign", one(id), options),
    /** Changes a draft; absent members keep their value. */
    update: (id: string, body: BodyOf<"updateCampaign">, options: CallOptions = {}) =>
      fetchData(call, "updateCampaign", { ...one(id), body }, options),
    /** Deletes a draft. */
    async delete(id: string, options: CallOptions = {}): Promise<void> {
      await call("deleteCampaign", one(id), options);
    },
    /** Adds up to 1,000 recipients to a draft. */
    addRecipients: (id: string, body: BodyOf<"addCampaignRecipients">, options: CallOptions = {}) =>
      fetchData(call, "addCampaignRecipients", { ...one(id), body }, options),
    /** Adds the rows of a CSV file whose header names `to`; every other column is a variable. */
    addRecipientsCsv: (id: string, file: CsvFile, options: CallOptions = {}) =>
      fetchData(call, "addCampaignRecipients", { ...one(id), file }, options),
    /** In the order of their addition, each with its status. */
    listRecipients: (
      id: string,
      query: QueryOf<"listCampaignRecipients"> = {},
      options: CallOptions = {},
    ): List<EntryOf<"listCampaignRecipients">> =>
      createList(call, "listCampaignRecipients", { ...one(id), query }, options),
    /** The same as CSV, one text per page. */
    listRecipientsCsv: (
      id: string,
      query: QueryOf<"listCampaignRecipients"> = {},
      options: CallOptions = {},
    ): AsyncIterable<string> =>
      csvPages(call, "listCampaignRecipients", { ...one(id), query }, options),
    /** Removes all recipients of a draft. */
    removeRecipients: (id: string, options: CallOptions = {}) =>
      fetchData(call, "removeCampaignRecipients", one(id), options),
    /** The most that it can cost. */
    estimate: (id: string, options: CallOptions = {}) =>
      fetchData(call, "estimateCampaign", one(id), options),
    /** The texts of some rows. */
    preview: (id: string, body: BodyOf<"previewCampaign"> = {}, options: CallOptions = {}) =>
      fetchData(call, "previewCampaign", { ...one(id), body }, options),
    /** Sends the text to at most 5 numbers of your own. */
    test: (id: string, body: BodyOf<"testCampaign">, options: CallOptions = {}) =>
      fetchData(call, "testCampaign", { ...one(id), body }, options),
    start: (id: string, options: CallOptions = {}) =>
      fetchData(call, "startCampaign", one(id), options),
    pause: (id: string, options: CallOptions = {}) =>
      fetchData(call, "pauseCampaign", one(id), options),
    resume: (id: string, options: CallOptions = {}) =>
      fetchData(call, "resumeCampaign", one(id), options),
    cancel: (id: string, options: CallOptions = {}) =>
      fetchData(call, "cancelCampaign", one(id), options),
  };
  return { campaigns };
}
