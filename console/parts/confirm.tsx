import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../core/use-action.ts";
import { ProblemBox } from "./common-parts.tsx";
import { Dialog } from "./dialog.tsx";

/** A button whose change cannot be taken back: it says what will happen, and asks. */
export function ConfirmButton({
  label,
  title,
  children,
  act,
  onDone,
  isDangerous = true,
}: {
  readonly label: string;
  readonly title: string;
  readonly children: ComponentChildren;
  readonly act: (key: string) => Promise<unknown>;
  readonly onDone?: () => void;
  readonly isDangerous?: boolean;
}) {
  const [isOpen, setOpen] = useState(false);
  const action = useAction(act, () => {
    setOpen(false);
    onDone?.();
  });
  return (
    <>
      <button type="button" class={isDangerous ? "danger" : ""} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={title} onClose={() => setOpen(false)}>
          <p>{children}</p>
          <ProblemBox problem={action.problem} />
          <div class="actions">
            <button
              type="button"
              class={isDangerous ? "danger" : "primary"}
              disabled={action.isBusy}
              onClick={() => void action.run()}
            >
              {action.isBusy ? "Working…" : label}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
