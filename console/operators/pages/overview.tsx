import { useResource } from "../../core/use-resource.ts";
import { AttentionList } from "../../parts/attention-list.tsx";
import { Empty, Figure, PageTitle } from "../../parts/common-parts.tsx";
import { attention } from "../api/attention.ts";
import { Waiting } from "../parts/common-parts.tsx";

const POLL_MS = 10_000;

/** The things that need an operator now, and the traffic of this moment. */
export function OverviewPage() {
  const found = useResource("overview", (signal) => attention(signal), POLL_MS);
  const { items = [], waiting = 0, sending = 0, perSecond = 0 } = found.data ?? {};
  return (
    <>
      <PageTitle note="Things that need an operator now, and the traffic.">Overview</PageTitle>
      <Waiting of={found} />
      {found.data !== undefined && items.length === 0 && (
        <Empty title="Nothing needs attention.">
          Every connector is linked, and nothing waits.
        </Empty>
      )}
      {items.length > 0 && <AttentionList title="Needs attention" problems={items} />}
      <div class="figures">
        <Figure label="Waiting messages" value={waiting.toLocaleString()} note="in all queues" />
        <Figure label="Being sent" value={sending.toLocaleString()} note="at all connectors" />
        <Figure label="Submits per second" value={perSecond.toFixed(1)} note="of all links" />
      </div>
    </>
  );
}
