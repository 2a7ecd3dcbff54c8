/** Small parts that every page uses. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiProblem } from "../api/http.ts";
import { TITLE } from "../core/console-path.ts";
import { showAge, showTime } from "../core/time.ts";

/** The heading of a page; it gets the focus when the page opens, so that a screen reader says it. */
export function PageTitle({
  children,
  actions,
  note,
}: {
  readonly children: string;
  readonly actions?: ComponentChildren;
  readonly note?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${children} – ${TITLE}`;
    heading.current?.focus({ preventScroll: true });
  }, [children]);
  return (
    <header class="page-title">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {children}
        </h1>
        {note !== undefined && <p class="muted">{note}</p>}
      </div>
      {actions !== undefined && <div class="actions">{actions}</div>}
    </header>
  );
}

/** An error, the next step, and the request's id for support. */
export function ProblemBox({ problem }: { readonly problem: ApiProblem | undefined }) {
  if (problem === undefined) return null;
  return (
    <div class="problem" role="alert">
      <strong>{problem.message}</strong>
      {problem.fields.length > 0 && (
        <ul>
          {problem.fields.map((fault) => (
            <li key={`${fault.field} ${fault.code}`}>
              <code>{fault.field}</code> {fault.message}
            </li>
          ))}
        </ul>
      )}
      {problem.requestId !== "" && (
        <p class="muted">
          If it happens again, give support this request: <code>{problem.requestId}</code>
        </p>
      )}
    </div>
  );
}

const TONES: Readonly<Record<string, string>> = {
  delivered: "good",
  succeeded: "good",
  approved: "good",
  enabled: "good",
  completed: "good",
  active: "good",
  bound: "good",
  chosen: "good",
  funded: "good",
  ok: "good",
  yes: "good",
  running: "busy",
  sent: "busy",
  queued: "busy",
  pending: "busy",
  scheduled: "busy",
  paused: "warn",
  draining: "warn",
  connecting: "warn",
  waits: "warn",
  unfinished: "warn",
  expired: "bad",
  undelivered: "bad",
  rejected: "bad",
  failed: "bad",
  suspended: "bad",
  disabled: "bad",
  down: "bad",
  refused: "bad",
  no: "bad",
};

/** A status in a word; the colour repeats the word and is never alone. */
export function Status({ value }: { readonly value: string }) {
  return <span class={`status ${TONES[value] ?? "plain"}`}>{value.replaceAll("_", " ")}</span>;
}

/** A time in the viewer's zone; UTC on hover and for screen readers by the element itself. */
export function Time({
  at,
  isAge = false,
}: {
  readonly at: string | null | undefined;
  readonly isAge?: boolean;
}) {
  if (at === null || at === undefined) return <>–</>;
  return (
    <time dateTime={at} title={`${at.replace("T", " ").replace(/\.\d+Z$/, "")} UTC`}>
      {isAge ? showAge(at) : showTime(at)}
    </time>
  );
}

/** A text with a button that copies it. */
export function Copy({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <span class="copy">
      <code>{text}</code>
      <button type="button" class="small" onClick={copy} aria-label={`Copy ${label}`}>
        {isCopied ? "Copied" : "Copy"}
      </button>
    </span>
  );
}

/** Nothing to show yet, and what to do about it. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}

/** While the first answer is awaited. */
export function Loading() {
  return (
    <p class="loading" role="status">
      Loading…
    </p>
  );
}

/** One figure of an overview. */
export function Figure({
  label,
  value,
  note,
}: {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly note?: ComponentChildren;
}) {
  return (
    <div class="figure">
      <span class="muted">{label}</span>
      <strong>{value}</strong>
      {note !== undefined && <span class="muted">{note}</span>}
    </div>
  );
}

/** Names and values, one below the other. */
export function Facts({
  rows,
}: {
  readonly rows: readonly (readonly [label: string, value: ComponentChildren])[];
}) {
  return (
    <dl class="facts">
      {rows.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value ?? "–"}</dd>
        </div>
      ))}
    </dl>
  );
}
