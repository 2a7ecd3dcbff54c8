/**
 * Sends one message exactly once, whatever goes wrong on the way: every attempt carries the same
 * Idempotency-Key. Needs BASE_URL, API_KEY, SENDER_ID, TO and IDEMPOTENCY_KEY in the environment.
 */
const { BASE_URL, API_KEY, SENDER_ID, TO, IDEMPOTENCY_KEY = "" } = process.env;

type Problem = { code: string; detail: string };

/** A proxy on the way may answer 502, 503 or 504, and not in JSON. Of 409 only `conflict` passes by itself. */
function isWorthAnother(status: number, text: string): boolean {
  if (status === 409) return (JSON.parse(text) as Problem).code === "conflict";
  return status === 408 || status === 429 || status >= 500;
}

/** One attempt: the accepted message, or how many seconds to wait (0: as the back-off says). */
async function attempt(): Promise<{ id: string; status: string } | number> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${BASE_URL}/v1/sms/messages`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${API_KEY}`,
        "content-type": "application/json",
        "idempotency-key": IDEMPOTENCY_KEY,
      },
      body: JSON.stringify({ to: TO, from: SENDER_ID, body: "Your code is 123456" }),
      signal: AbortSignal.timeout(30_000),
    });
    text = await response.text();
  } catch {
    // No answer came. The message may have been accepted; the key makes asking again safe.
    return 0;
  }
  if (response.status === 202) return JSON.parse(text).data;
  if (!isWorthAnother(response.status, text)) {
    const { code, detail } = JSON.parse(text) as Problem;
    throw new Error(`${code}: ${detail}`);
  }
  return Number(response.headers.get("retry-after") ?? 0);
}

for (let backOffS = 1; ; backOffS = Math.min(60, backOffS * 2)) {
  const outcome = await attempt();
  if (typeof outcome === "object") {
    process.stdout.write(`${outcome.id} ${outcome.status}\n`);
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, (outcome || backOffS) * 1000));
}
