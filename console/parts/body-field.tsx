import type { ComponentChildren } from "preact";
import { type Measure, measure } from "../core/segments.ts";
import { Field } from "./form.tsx";

/** The text of a message, with what it costs in parts while it is typed. */
export function BodyField({
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
  const note = (
    <>
      <SegmentCount measure={measure(value)} />
      {hint !== undefined && <br />}
      {hint}
    </>
  );
  return (
    <Field label="Text" fault={fault} hint={note}>
      {(ids) => (
        <textarea
          {...ids}
          rows={5}
          required
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** How many parts a text has, and the characters that make it longer than it could be. */
function SegmentCount({ measure }: { readonly measure: Measure }) {
  const { segments, units, left, encoding, culprits } = measure;
  return (
    <span aria-live="polite">
      {segments} {segments === 1 ? "part" : "parts"}, {units} characters, {left} left ·{" "}
      {encoding === "gsm7" ? "GSM 7-bit" : "UCS-2"}
      {culprits.length > 0 && (
        <>
          {" "}
          because of{" "}
          {culprits.slice(0, 8).map((one) => (
            <mark key={one}>{one}</mark>
          ))}
        </>
      )}
    </span>
  );
}
