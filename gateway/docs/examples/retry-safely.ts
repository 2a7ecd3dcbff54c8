/**
 * Sends one message exactly once, through errors and lost responses: every attempt carries the same
 * Idempotency-Key. Gives up after an hour, long before the key is forgotten (24 hours): look for the
 * message then, before it is sent again. Needs BASE_URL, API_KEY, SENDER_ID, TO and IDEMPOTENCY_KEY
 * in the environment.
 */
const { BASE_URL, API_KEY, SENDER_ID, TO, IDEMPOTENCY_KEY = "" } = process.env;
if (IDEMPOTENCY_KEY === "") throw new Error("IDEMPOTENCY_KEY is not set");

/** A proxy on the way may answer 502, 503 or 504, and not in JSON. Of 409 only `conflict` passes by itself. */
function isWorthAnother(status: number, text: string): boolean {
  if (status === 409) return text.includes('"code":"conflict"');
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
  if (!isWorthAnother(response.status, text)) throw new Error(text);
  return Number(response.headers.get("retry-after") ?? 0);
}

async function sendOnce(): Promise<{ id: string; status: string }> {
  const giveUpAtMs = performance.now() + 3_600_000;
  for (let backOffS = 1; performance.now() < giveUpAtMs; backOffS = Math.min(60, backOffS * 2)) {
    const outcome = await attempt();
    if (typeof outcome === "object") return outcome;
    await new Promise((resolve) => setTimeout(resolve, (outcome || backOffS) * 1000));
  }
  throw new Error("no answer within an hour: look for the message before sending it again");
}

const { id, status } = await sendOnce();
process.stdout.write(`${id} ${status}\n`);
