import { useState } from "preact/hooks";
import { useResource } from "../../core/use-resource.ts";
import { Empty, Figure } from "../../parts/common-parts.tsx";
import { Table } from "../../parts/table.tsx";
import { rpc } from "../api/rpc.ts";
import type { Entry, Tenant, Wallet } from "../api/types.ts";
import { word } from "../core/protobuf-json.ts";
import { useMay } from "../core/session-context.ts";
import { At, Money, Waiting } from "./common-parts.tsx";
import { FundDialog } from "./fund-dialog.tsx";

const KINDS = ["ENTRY_KIND_FUND", "ENTRY_KIND_ADJUST"];

/** A tenant's money, and its last fundings and corrections. */
export function TenantWallet({ tenant }: { readonly tenant: Tenant }) {
  const tenantId = tenant.id;
  const mayFund = useMay("WalletService/RequestFunding");
  const [isFunding, setFunding] = useState(false);
  const found = useResource(
    `wallet ${tenantId}`,
    async (signal) => {
      const [{ wallet }, { entries }, { approvalAbove }] = await Promise.all([
        rpc<{ wallet: Wallet }>("WalletService/GetWallet", { tenantId }, signal),
        rpc<{ entries: Entry[] }>(
          "WalletService/ListEntries",
          { tenantId, kinds: KINDS, limit: 10 },
          signal,
        ),
        rpc<{ approvalAbove: string }>(
          "WalletService/ListFundings",
          { tenantId, limit: 1 },
          signal,
        ),
      ]);
      return { wallet, entries, approvalAbove };
    },
    10_000,
  );
  const { wallet, entries = [], approvalAbove = "0" } = found.data ?? {};
  return (
    <section aria-labelledby="wallet">
      <div class="page-title">
        <h2 id="wallet">Wallet</h2>
        {mayFund && wallet !== undefined && (
          <button type="button" onClick={() => setFunding(true)}>
            Fund
          </button>
        )}
      </div>
      {isFunding && (
        <FundDialog
          {...{ tenant, approvalAbove }}
          onClose={() => setFunding(false)}
          onDone={found.reload}
        />
      )}
      {found.problem?.code === "not_found" ? (
        <Empty title="This tenant has no wallet.">
          Make it with <code>smsctl tenant create</code> under the same name.
        </Empty>
      ) : (
        <Waiting of={found} />
      )}
      {wallet !== undefined && (
        <div class="figures">
          <Figure
            label="Available"
            value={<Money units={wallet.available} currency={wallet.currency} />}
            note={wallet.frozen ? "frozen: new holds are refused" : ""}
          />
          <Figure label="Held" value={<Money units={wallet.held} currency={wallet.currency} />} />
          <Figure
            label="Balance"
            value={<Money units={wallet.balance} currency={wallet.currency} />}
          />
        </div>
      )}
      {entries.length > 0 && (
        <Table
          caption="Fundings and corrections"
          rows={entries}
          keyOf={({ id }) => id}
          columns={[
            { heading: "Time", cell: (row) => <At ms={row.createdAtMs} /> },
            { heading: "Kind", cell: (row) => word(row.kind, "ENTRY_KIND") },
            { heading: "By", cell: (row) => row.actor },
            {
              heading: "Reference or reason",
              cell: (row) => row.reason || row.reference,
              isMinor: true,
            },
            {
              heading: "Amount",
              isNumber: true,
              cell: (row) => (
                <Money
                  units={row.postings.find(({ account }) => account === "available")?.amount}
                  currency={row.currency}
                />
              ),
            },
            {
              heading: "Balance after",
              isNumber: true,
              cell: (row) => <Money units={row.balanceAfter} currency={row.currency} />,
            },
          ]}
        />
      )}
    </section>
  );
}
