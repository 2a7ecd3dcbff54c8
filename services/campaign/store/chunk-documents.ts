/** Maps chunks to documents. */
import { Long } from "mongodb";
import type { Chunk } from "../app/ports.ts";

export type ChunkDocument = {
  _id: string;
  campaign_id: string;
  number: number;
  indexes: number[];
  held_max?: Long;
};

/** Numbers with leading zeros, so that the ids of a campaign's chunks are a range. */
export function chunkId(campaignId: string, number: number): string {
  return `${campaignId}.${String(number).padStart(8, "0")}`;
}

/** The chunks of a campaign. */
export function chunksOf(campaignId: string) {
  return { _id: { $gte: `${campaignId}.`, $lt: `${campaignId}/` } };
}

export function fromChunk(chunk: Chunk): ChunkDocument {
  const { campaignId, number, indexes, heldMax } = chunk;
  return {
    _id: chunkId(campaignId, number),
    campaign_id: campaignId,
    number,
    indexes: [...indexes],
    ...(heldMax === undefined ? {} : { held_max: Long.fromBigInt(heldMax) }),
  };
}

export function toChunk({ campaign_id, number, indexes, held_max }: ChunkDocument): Chunk {
  return { campaignId: campaign_id, number, indexes, heldMax: held_max?.toBigInt() };
}
