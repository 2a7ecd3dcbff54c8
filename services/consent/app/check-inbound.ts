/** Checks that each inbound message is stored once (docs/invariants.md, 16). */
import type { InboundStore } from "./ports.ts";

/** A breach of an invariant, with the ids concerned. */
export type Breach = {
  readonly invariant: number;
  readonly what: string;
  readonly ids: readonly string[];
};

const INVARIANT = 16;

/** Every breach, of one tenant or of all. */
export async function* checkInbound(
  inbound: Pick<InboundStore, "hasRepeatKey" | "findDoubled">,
  tenantId: string | undefined,
): AsyncGenerator<Breach> {
  if (!(await inbound.hasRepeatKey())) {
    const what = "the database has no unique key that refuses repeated inbound messages";
    yield { invariant: INVARIANT, what, ids: [] };
  }
  for await (const ids of inbound.findDoubled(tenantId)) {
    yield { invariant: INVARIANT, what: "an inbound message is stored twice", ids };
  }
}
