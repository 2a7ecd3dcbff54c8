import { useEffect, useState } from "preact/hooks";
import { messages } from "../api/console.ts";
import { fromUnits, showMoney, toUnits } from "../core/money.ts";
import { useResource } from "../core/use-resource.ts";

/** Typing pauses this long before the price is asked for. */
const PAUSE_MS = 500;

/** The most that a text to some numbers costs, by the price of the first one; or why it would be refused. */
export function Price({
  from,
  numbers,
  body,
}: {
  readonly from: string;
  readonly numbers: readonly string[];
  readonly body: string;
}) {
  const [first = ""] = numbers;
  const key = useSettled(first === "" || body === "" ? "" : JSON.stringify([from, first, body]));
  const found = useResource(`price ${key}`, async () => {
    if (key === "") return undefined;
    const [ofSender, to, text] = JSON.parse(key) as [string, string, string];
    return messages.preview({ from: ofSender, to, body: text });
  });
  const preview = found.data;
  if (preview === undefined) return null;
  if (preview.refusal !== null) return <p class="fault">{preview.refusal.message}</p>;
  if (preview.amount === null) return null;
  const total = fromUnits(toUnits(preview.amount) * BigInt(numbers.length));
  return (
    <p role="status">
      {numbers.length === 1 ? "Costs at most " : `${numbers.length} messages like the first cost `}
      <strong>{showMoney(total, preview.currency)}</strong>
      {numbers.length > 1 && `, ${showMoney(preview.amount, preview.currency)} each`}.
    </p>
  );
}

/** A text once it has not changed for a while. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
