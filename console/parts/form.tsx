import type { ComponentChildren, InputHTMLAttributes, JSX } from "preact";
import { useId } from "preact/hooks";
import type { ApiProblem } from "../api/http.ts";

/** The fault of one field in a refusal. */
export function faultOf(problem: ApiProblem | undefined, field: string): string | undefined {
  return problem?.fields.find((one) => one.field === field || one.field.startsWith(`${field}.`))
    ?.message;
}

/** A label, a control, a hint, and what is wrong with it. */
export function Field({
  label,
  hint,
  fault,
  children,
}: {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly fault?: string | undefined;
  readonly children: (ids: {
    readonly id: string;
    readonly "aria-describedby": string;
    readonly "aria-invalid": boolean;
  }) => JSX.Element;
}) {
  const id = useId();
  const noteId = `${id}-note`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": noteId, "aria-invalid": fault !== undefined })}
      <div id={noteId} class={fault === undefined ? "muted" : "fault"}>
        {fault ?? hint}
      </div>
    </div>
  );
}

/** A text field. */
export function TextField({
  label,
  value,
  onInput,
  hint,
  fault,
  ...rest
}: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly fault?: string | undefined;
  readonly type?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly inputMode?: "tel" | "decimal" | "numeric" | "email";
  readonly autoComplete?: string;
}) {
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(ids) => (
        <input
          {...ids}
          {...(rest as InputHTMLAttributes<HTMLInputElement>)}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A choice of a few. */
export function SelectField({
  label,
  value,
  options,
  onInput,
  hint,
  fault,
}: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onInput: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly fault?: string | undefined;
}) {
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(ids) => (
        <select {...ids} value={value} onChange={(event) => onInput(event.currentTarget.value)}>
          {options.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
