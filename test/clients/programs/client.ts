/** Uses the types of openapi-typescript with openapi-fetch, and prints the answers as one JSON object. */
import createClient from "openapi-fetch";
import type { components, paths } from "./sms.d.ts";

type Problem = components["schemas"]["Problem"];
type Seen = Record<string, unknown>;

const seen: Seen = {};
const client = open("BASE_URL", "API_KEY");
const single = {
  to: "+2348031234567",
  from: "Acme",
  body: "Hello",
  send_at: new Date(Date.now() + 3_600_000).toISOString(),
};
const key = { params: { header: { "Idempotency-Key": "typescript-one" } } };

const sent = await client.POST("/v1/sms/messages", { body: single, ...key });
const message = given(sent.data).data;
seen.single = message.status;

const bulk = { to: ["+2348031234567", "not a number"], from: "Acme", body: "Hello" };
const result = given((await client.POST("/v1/sms/messages/bulk", { body: bulk })).data).data;
seen.bulk = result.messages.map(({ status, error }) =>
  error === null ? status : `${status} ${error.code}`,
);

const query = { status: ["scheduled" as const] };
const page = given((await client.GET("/v1/messages", { params: { query } })).data);
seen.list = page.data[0]?.id === message.id;

const path = { message_id: message.id };
const read = given((await client.GET("/v1/messages/{message_id}", { params: { path } })).data).data;
seen.history = read.status_history[0]?.status;
const cancel = await client.POST("/v1/messages/{message_id}/cancel", {
  params: { path },
  body: null,
});
seen.cancelled = given(cancel.data).data.error?.code;

seen.unauthenticated = describe((await open("BASE_URL", "WRONG_KEY").GET("/v1/balance")).error);

const poor = open("BASE_URL", "POOR_KEY");
const { error: refused } = await poor.POST("/v1/sms/messages", { body: single });
if (refused !== undefined && "required_amount" in refused) {
  const { available_amount, required_amount, currency } = refused;
  seen.insufficientBalance = `${describe(refused)} ${available_amount} of ${required_amount} ${currency}`;
}

const other = { ...single, body: "Another text" };
seen.conflict = describe((await client.POST("/v1/sms/messages", { body: other, ...key })).error);

const wrong = { ...single, to: "not a number" };
const { error: invalid } = await client.POST("/v1/sms/messages", { body: wrong });
const [fault] = given(invalid).errors;
seen.invalid = `${describe(invalid)} ${fault?.field} ${fault?.code}`;

const limited = open("BASE_URL", "LIMITED_KEY");
for (let tries = 0; tries < 5 && seen.rateLimited === undefined; tries += 1) {
  const { error, response } = await limited.GET("/v1/balance");
  if (response.status !== 429) continue;
  seen.rateLimited = `${describe(error)} ${response.headers.get("retry-after")}`;
}

const future = open("FUTURE_URL", "API_KEY");
const later = await future.GET("/v1/messages/{message_id}", { params: { path } });
const { source, channel, encoding } = given(later.data).data;
seen.future = `${source} ${channel} ${encoding}`;
seen.futureList = given((await future.GET("/v1/messages")).data).data[0]?.source;
seen.futureCode = describe((await open("FUTURE_URL", "WRONG_KEY").GET("/v1/balance")).error);

process.stdout.write(JSON.stringify(seen));

function open(url: string, name: string) {
  return createClient<paths>({
    baseUrl: process.env[url] ?? "",
    headers: { Authorization: `Bearer ${process.env[name]}` },
    querySerializer: { array: { style: "form", explode: true } },
  });
}

function describe(problem: Problem | undefined): string {
  const { status, code } = given(problem);
  return `${status} ${code}`;
}

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the answer has another status");
  return value;
}
