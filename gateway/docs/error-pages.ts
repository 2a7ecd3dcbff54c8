import { ERRORS, type ErrorCode } from "../../services/shared/core/errors.ts";
import { FIELD_CODES, MESSAGE_CODES } from "./content/code-texts.ts";
import { ERROR_PAGES } from "./content/error-texts.ts";
import { problemExample } from "./content/problem-examples.ts";
import { type Html, html, json, page, prose, row } from "./html.ts";

/** Every code of the registry. */
export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** The page of one error code: the cause, the fix, whether to retry. */
export function errorPage(code: ErrorCode, docsUrl: string): string {
  const { http, title } = ERRORS[code];
  const text = ERROR_PAGES[code];
  return page(
    `${code} — ${title}`,
    html`<p><a href="${docsUrl}">Reference</a></p>
<h1>${title}</h1>
<p>HTTP ${http}, code <code>${code}</code></p>
<h2>What happened</h2>
<p>${prose(text.happened)}</p>
<h2>How to fix it</h2>
<p>${prose(text.fix)}</p>
<h2>Retry?</h2>
<p>${prose(text.retry)}</p>
<h2>Example</h2>
${json(problemExample(code, docsUrl))}
${code === "validation_error" ? html`<h2>Codes of fields</h2>${fieldTable()}` : html``}`,
  );
}

/** The codes of `errors` entries. */
export function fieldTable(): Html {
  const rows = Object.entries(FIELD_CODES).map(([code, text]) =>
    row(html`<code>${code}</code>`, text),
  );
  return html`<table>
${rows}
</table>`;
}

/** The codes of message errors, by status. */
export function messageCodeTable(): Html {
  const rows = Object.entries(MESSAGE_CODES).flatMap(([status, codes]) =>
    Object.entries(codes).map(([code, text]) => row(status, html`<code>${code}</code>`, text)),
  );
  return html`<table><tr><th>Status</th><th>error.code</th><th></th></tr>
${rows}
</table>`;
}

/** The list of all codes, each with a link to its page. */
export function errorTable(docsUrl: string): Html {
  const rows = ERROR_CODES.map((code) =>
    row(
      String(ERRORS[code].http),
      html`<a href="${docsUrl}/errors/${code}"><code>${code}</code></a>`,
      prose(ERROR_PAGES[code].happened),
    ),
  );
  return html`<table><tr><th>HTTP</th><th>code</th><th>What happened</th></tr>
${rows}
</table>`;
}
