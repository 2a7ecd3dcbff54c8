/** Sends one message. Needs BASE_URL, API_KEY, SENDER_ID and TO in the environment. */
const { BASE_URL, API_KEY, SENDER_ID, TO } = process.env;

const response = await fetch(`${BASE_URL}/v1/sms/messages`, {
  method: "POST",
  headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
  body: JSON.stringify({ to: TO, from: SENDER_ID, body: "Your code is 123456" }),
});

if (response.status === 202) {
  const { data } = (await response.json()) as { data: { id: string; status: string } };
  process.stdout.write(`${data.id} ${data.status}\n`);
} else {
  process.stderr.write(`${await response.text()}\n`);
  process.exitCode = 1;
}
