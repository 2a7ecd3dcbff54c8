import type { ComponentChildren } from "preact";
import { TextField } from "./form.tsx";

/** The field of a one-time code; phones and password managers fill it. */
export function CodeField({
  value,
  onInput,
  fault,
  hint,
}: {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly fault: string | undefined;
  readonly hint?: ComponentChildren;
}) {
  return (
    <TextField
      label="Code"
      autoComplete="one-time-code"
      required
      value={value}
      onInput={onInput}
      fault={fault}
      hint={hint}
    />
  );
}
