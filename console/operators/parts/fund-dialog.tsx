import { useState } from "preact/hooks";
import { useAction } from "../../core/use-action.ts";
import { ProblemBox } from "../../parts/common-parts.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { faultOf, TextField } from "../../parts/form.tsx";
import { rpc } from "../api/rpc.ts";
import type { Funding, Tenant } from "../api/types.ts";
import { readUnits, word } from "../core/protobuf-json.ts";
import { Money } from "./common-parts.tsx";

/** Asks for a funding; above the limit it waits for a second person. */
export function FundDialog({
  tenant,
  approvalAbove,
  onClose,
  onDone,
}: {
  readonly tenant: Tenant;
  /** Ten-thousandths. */
  readonly approvalAbove: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [amount, setAmount] = useState("");
  const [reason, setReason] = useState("");
  const [asked, setAsked] = useState<Funding>();
  const units = readUnits(amount);
  const needsSecond = units !== undefined && BigInt(units) > BigInt(approvalAbove);
  const ask = useAction(
    async (key: string) => {
      const request = { tenantId: tenant.id, amount: units, reason, key };
      return rpc<{ funding: Funding }>("WalletService/RequestFunding", request);
    },
    ({ funding }) => {
      setAsked(funding);
      onDone();
    },
  );
  return (
    <Dialog title={`Fund ${tenant.name}`} onClose={onClose}>
      {asked === undefined ? (
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            if (units !== undefined) void ask.run();
          }}
        >
          <TextField
            label={`Amount in ${tenant.currency}`}
            required
            inputMode="decimal"
            value={amount}
            onInput={setAmount}
            fault={
              amount !== "" && units === undefined
                ? "Write an amount such as 12500 or 12500.50."
                : faultOf(ask.problem, "amount")
            }
            hint={
              needsSecond ? (
                <strong>A second person must approve this amount.</strong>
              ) : (
                <>
                  A second person must approve when you fund more than{" "}
                  <Money units={approvalAbove} currency={tenant.currency} /> in 24 hours, over all
                  tenants.
                </>
              )
            }
          />
          <TextField
            label="Reason"
            required
            value={reason}
            onInput={setReason}
            fault={faultOf(ask.problem, "reason")}
            hint="For the audit trail, such as the number of an invoice."
          />
          <ProblemBox problem={ask.problem} />
          <div class="actions">
            <button type="submit" class="primary" disabled={ask.isBusy}>
              {ask.isBusy ? "Working…" : needsSecond ? "Ask for approval" : "Fund"}
            </button>
          </div>
        </form>
      ) : (
        <Asked funding={asked} />
      )}
    </Dialog>
  );
}

function Asked({ funding }: { readonly funding: Funding }) {
  const amount = <Money units={funding.amount} currency={funding.currency} />;
  switch (word(funding.state, "FUNDING_STATE")) {
    case "pending":
      return (
        <p role="status">
          {amount} waits for a second person. It is in <a href="/operators/fundings">Fundings</a>.
        </p>
      );
    case "failed":
      return <p class="problem">{`The wallet could not take it: ${funding.failure}`}</p>;
    default:
      return <p role="status">{amount} is in the wallet.</p>;
  }
}
