import { useState } from "preact/hooks";
import { campaigns } from "../api/console.ts";
import type { Campaign, CampaignImport } from "../api/types.ts";
import { firstRows, placeholders, separatorOf } from "../core/csv-preview.ts";
import { useAction } from "../core/use-action.ts";
import { ProblemBox } from "./common-parts.tsx";
import { Field, SelectField } from "./form.tsx";
import { ImportResult } from "./import-result.tsx";
import { scrolling } from "./table.tsx";

/** Bytes that are read to show the columns. */
const HEAD_BYTES = 65_536;
const SHOWN_ROWS = 4;

type Chosen = {
  readonly file: File;
  readonly header: readonly string[];
  readonly rows: string[][];
};

/** A CSV file by choice or by drag and drop; its columns are matched with the text's placeholders before it is sent. */
export function CampaignFile({
  campaign,
  onDone,
}: {
  readonly campaign: Campaign;
  readonly onDone: () => void;
}) {
  const [chosen, setChosen] = useState<Chosen>();
  const [mapping, setMapping] = useState<Record<string, string>>({});
  const [result, setResult] = useState<CampaignImport>();
  const [isOver, setOver] = useState(false);
  const wanted = ["to", ...placeholders(campaign.body)];
  const add = useAction(
    async (key: string) => {
      if (chosen === undefined) throw new Error("no file is chosen");
      return campaigns.addCsv(key, campaign.id, await renamed(chosen, mapping));
    },
    (done: CampaignImport) => {
      setResult(done);
      setChosen(undefined);
      onDone();
    },
  );
  const choose = async (file: File | undefined) => {
    if (file === undefined) return;
    const [header = [], ...rows] = firstRows(await file.slice(0, HEAD_BYTES).text(), SHOWN_ROWS);
    setResult(undefined);
    setChosen({ file, header, rows });
    setMapping(Object.fromEntries(wanted.map((name) => [name, likely(name, header)])));
  };
  const missing = wanted.filter((name) => (mapping[name] ?? "") === "");

  return (
    <div>
      <section
        aria-label="Drop a file here"
        class={isOver ? "drop over" : "drop"}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void choose(event.dataTransfer?.files[0]);
        }}
      >
        <Field label="CSV file" hint={`With a header line and the columns ${wanted.join(", ")}.`}>
          {(ids) => (
            <input
              {...ids}
              type="file"
              accept=".csv,text/csv"
              onChange={(event) => void choose(event.currentTarget.files?.[0])}
            />
          )}
        </Field>
      </section>
      {chosen !== undefined && (
        <div>
          <h3>{chosen.file.name}</h3>
          <div class="filter">
            {wanted.map((name) => (
              <SelectField
                key={name}
                label={name === "to" ? "Column with the number" : `Column for {{${name}}}`}
                value={mapping[name] ?? ""}
                options={[["", "choose…"], ...chosen.header.map((one) => [one, one] as const)]}
                onInput={(value) => setMapping({ ...mapping, [name]: value })}
              />
            ))}
          </div>
          <div class="table" {...scrolling("The first rows of the file")}>
            <table>
              <caption class="hidden">The first rows of the file</caption>
              <thead>
                <tr>
                  {chosen.header.map((one) => (
                    <th key={one} scope="col">
                      {one}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {chosen.rows.map((row) => (
                  <tr key={row.join("\n")}>
                    {row.map((cell, at) => (
                      <td key={chosen.header[at] ?? at} data-heading={chosen.header[at]}>
                        {cell}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <button
            type="button"
            class="primary"
            disabled={add.isBusy || missing.length > 0}
            onClick={() => void add.run()}
          >
            {add.isBusy ? "Sending the file…" : "Add the recipients"}
          </button>
          {missing.length > 0 && <p class="fault">Choose a column for {missing.join(", ")}.</p>}
        </div>
      )}
      <ProblemBox problem={add.problem} />
      {result !== undefined && (
        <ImportResult
          counts={[
            ["added", result.taken],
            ["duplicates", result.duplicates],
            ["refused", result.rejected],
          ]}
          faults={result.faults}
        />
      )}
    </div>
  );
}

/** The column that has the same name, or for the number one of the usual ones. */
function likely(name: string, header: readonly string[]): string {
  const clean = (text: string) =>
    text
      .trim()
      .toLowerCase()
      .replace(/[\s_-]+/g, "");
  const names =
    name === "to" ? ["to", "phone", "phonenumber", "number", "msisdn", "mobile"] : [clean(name)];
  return header.find((one) => names.includes(clean(one))) ?? "";
}

/** The file with its chosen columns under the names that the service expects; only the header line changes. */
async function renamed(
  { file, header }: Chosen,
  mapping: Readonly<Record<string, string>>,
): Promise<Blob> {
  const names = header.map(
    (column) => Object.entries(mapping).find(([, of]) => of === column)?.[0] ?? column,
  );
  if (names.every((name, at) => name === header[at])) return file;
  const head = await file.slice(0, HEAD_BYTES).arrayBuffer();
  const bytes = new Uint8Array(head);
  // The header ends at the first line end outside quotes.
  let isQuoted = false;
  let end = 0;
  while (end < bytes.length) {
    const byte = bytes[end];
    if (byte === 0x22) isQuoted = !isQuoted;
    if (!isQuoted && (byte === 0x0a || byte === 0x0d)) break;
    end += 1;
  }
  const line = new TextDecoder().decode(bytes.subarray(0, end));
  const separator = separatorOf(line);
  const quoted = names.map((name) => `"${name.replaceAll('"', '""')}"`);
  return new Blob([quoted.join(separator), file.slice(end)], { type: "text/csv" });
}
