/**
 * Lists the ids of all messages of a time span, page by page. Both bounds are sent, so that no
 * message is missed or shown twice while new ones arrive. Needs BASE_URL, API_KEY, CREATED_AFTER
 * and CREATED_BEFORE in the environment.
 */
const { BASE_URL, API_KEY, CREATED_AFTER = "", CREATED_BEFORE = "", LIMIT = "100" } = process.env;

type Page = { data: { id: string }[]; next_cursor: string | null };

let cursor: string | null = null;
do {
  const query = new URLSearchParams({
    created_after: CREATED_AFTER,
    created_before: CREATED_BEFORE,
    limit: LIMIT,
  });
  if (cursor !== null) query.set("cursor", cursor);
  const response = await fetch(`${BASE_URL}/v1/messages?${query}`, {
    headers: { authorization: `Bearer ${API_KEY}` },
  });
  if (response.status !== 200) throw new Error(await response.text());
  const page = (await response.json()) as Page;
  for (const { id } of page.data) process.stdout.write(`${id}\n`);
  cursor = page.next_cursor;
} while (cursor !== null);
