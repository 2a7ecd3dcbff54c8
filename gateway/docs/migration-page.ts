import { html, page } from "./html.ts";

/** The page that the `Link` header of the deprecated send path names. */
export function migrationPage(docsUrl: string): string {
  return page(
    "Move to POST /v1/sms/messages",
    html`<p><a href="${docsUrl}">Reference</a></p>
<h1>Move from POST /v1/messages to POST /v1/sms/messages</h1>
<p class="note">POST /v1/messages is deprecated. After 15 April 2027 it may be removed; a send to it
then answers 404 <a href="${docsUrl}/errors/not_found"><code>not_found</code></a> and sends nothing.</p>
<h2>What changes</h2>
<p>Only the path. Body, headers, responses, statuses and errors are the same.</p>
<pre><code>- POST /v1/messages
+ POST /v1/sms/messages</code></pre>
<h2>What stays</h2>
<ul>
<li>Idempotency keys are shared by the two paths: a retry may move from one to the other.</li>
<li><code>GET /v1/messages</code>, <code>GET /v1/messages/{message_id}</code> and
<code>POST /v1/messages/{message_id}/cancel</code> are not deprecated and stay where they are.</li>
<li>The <code>Location</code> of an accepted message is the same on both paths.</li>
</ul>
<h2>How to find calls that must move</h2>
<p>Every response of the old path, errors included, carries <code>Deprecation: true</code>,
<code>Sunset: Thu, 15 Apr 2027 23:59:59 GMT</code> and a <code>Link</code> to this page. (Answers 413,
415 and 431, and those to what cannot be read as a request, do not: they come before the path is
reached.) Log calls whose answer has <code>Deprecation</code>, change their path, and you are done when
the log stays empty.</p>`,
  );
}
