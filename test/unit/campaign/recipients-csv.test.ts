import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { readRecipientsCsv } from "../../../services/campaign/adapters/recipients-csv.ts";
import { checkRow } from "../../../services/campaign/domain/check-row.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { isFault } from "../../../services/shared/core/row-faults.ts";

const NUMBER = "08031234567";

/** Each row as `line number name` or `line code`. */
async function verdicts(file: string | Uint8Array): Promise<string[]> {
  const found: string[] = [];
  const bytes = typeof file === "string" ? Buffer.from(file) : file;
  for await (const row of readRecipientsCsv(bytes)) {
    const checked = "code" in row ? row : checkRow(row);
    found.push(
      isFault(checked)
        ? `${checked.line} ${checked.code}`
        : `${checked.line} ${checked.to} ${JSON.stringify(checked.variables)}`,
    );
  }
  return found;
}

async function refusal(file: string | Uint8Array): Promise<string> {
  const error = await verdicts(file).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AppError)) throw new Error(`not refused: ${String(error)}`);
  const [field] = error.fields ?? [];
  return `${field?.code}: ${field?.message}`;
}

const ADA = '2 +2348031234567 {"name":"Ada"}';

describe("a file of recipients", () => {
  for (const [what, file] of [
    ["with commas", `to,name\n${NUMBER},Ada\n`],
    ["with semicolons, as in Europe", `to;name\n${NUMBER};Ada\n`],
    ["with tabs", `to\tname\n${NUMBER}\tAda\n`],
    ["with a byte order mark", `\ufeffto,name\n${NUMBER},Ada\n`],
    ["with the byte order mark before a quoted header", `\ufeff"to","name"\n${NUMBER},Ada\n`],
    ["with the line ends of Windows", `to,name\r\n${NUMBER},Ada\r\n`],
    ["with those of old Macs", `to,name\r${NUMBER},Ada\r`],
    ["without a last line end", `to,name\n${NUMBER},Ada`],
    ["with spaces around the header's names", ` To , name \n${NUMBER},Ada\n`],
    ["with quotes around everything", `"to","name"\n"${NUMBER}","Ada"\n`],
    ["with empty columns at the end", `to,name,,\n${NUMBER},Ada,,\n`],
    ["with empty cells after the last column", `to,name\n${NUMBER},Ada, ,\n`],
    ["with an apostrophe before the number", `to,name\n'${NUMBER},Ada\n`],
    ["with the number as a formula", `to,name\n="${NUMBER}",Ada\n`],
    ["with the number as a quoted formula", `to,name\n"=""${NUMBER}""",Ada\n`],
    ["with a quoted header that holds the other delimiter", `"to";"name"\n"${NUMBER}";"Ada"\n`],
  ] as const) {
    it(`${what} is read`, async () => {
      expect(await verdicts(file)).to.deep.equal([ADA]);
    });
  }

  it("of one column is read", async () => {
    expect(await verdicts(`to\n${NUMBER}\n`)).to.deep.equal(["2 +2348031234567 {}"]);
  });

  it("keeps delimiters, quotes and line ends inside quotes, and counts its lines on", async () => {
    const file = `to,name\n${NUMBER},"Ada, ""the\r\nfirst"""\n08031234568,Emeka\nx,y\n`;
    expect(await verdicts(file)).to.deep.equal([
      '2 +2348031234567 {"name":"Ada, \\"the\\nfirst\\""}',
      '4 +2348031234568 {"name":"Emeka"}',
      "5 invalid_recipient",
    ]);
  });

  it("leaves out empty lines, and lines of delimiters alone, and counts them", async () => {
    const file = `to,name\n\n,\n  \n${NUMBER},Ada\n`;
    expect((await verdicts(file)).at(-1)).to.equal(ADA.replace("2", "5"));
  });

  it("reports a fault for each wrong line, and continues", async () => {
    const file = [
      "to,name",
      "2.34803E+12,Ada",
      "2,34803E+12,Ada",
      ",Ada",
      "none,Ada",
      `${NUMBER}`,
      `${NUMBER},${"a".repeat(1001)}`,
      `${NUMBER},Ada`,
    ].join("\n");
    expect(await verdicts(file)).to.deep.equal([
      "2 scientific_notation",
      "3 wrong_column_count",
      "4 required",
      "5 invalid_recipient",
      "6 wrong_column_count",
      "7 too_long",
      ADA.replace("2", "8"),
    ]);
  });

  it("takes misplaced quotes as characters, and reads on", async () => {
    const numbers = [0, 1, 2].map((at) => `0803123456${at}`);
    const file = `to,name\n${numbers[0]},A"da\n${numbers[1]},"Ada"x\n${numbers[2]},Emeka\n`;
    expect(await verdicts(file)).to.deep.equal([
      '2 +2348031234560 {"name":"A\\"da"}',
      '3 +2348031234561 {"name":"\\"Ada\\"x"}',
      '4 +2348031234562 {"name":"Emeka"}',
    ]);
  });

  it("in another encoding is refused with its name", async () => {
    const latin1 = Buffer.from(`to,name\n${NUMBER},Zo\u00eb\n`, "latin1");
    expect(await refusal(latin1)).to.match(/^invalid_encoding: .*Latin-1.*save it as UTF-8/);
    const utf16 = Buffer.from(`to,name\n${NUMBER},Ada\n`, "utf16le");
    const marked = Buffer.concat([Buffer.from([0xff, 0xfe]), utf16]);
    for (const file of [marked, utf16, utf16.swap16()]) {
      expect(await refusal(file)).to.match(/^invalid_encoding: .*UTF-16.*save it as UTF-8/);
    }
  });

  it("that is no text is refused with its format", async () => {
    const workbook = Buffer.concat([Buffer.from("PK\x03\x04"), Buffer.alloc(50)]);
    expect(await refusal(workbook)).to.match(/^invalid_csv: .*\.xlsx.*save it as CSV/);
    expect(await refusal(gzipSync(`to\n${NUMBER}\n`))).to.match(/^invalid_csv: .*compressed/);
  });

  it("names its delimiter in a line before the header, which counts as a line", async () => {
    for (const first of ["sep=;", '"sep=;"', "\ufeffSEP=;"]) {
      const found = await verdicts(`${first}\r\nto;name,full\r\n${NUMBER};Ada\r\n`);
      expect(found).to.deep.equal([`3 +2348031234567 {"name,full":"Ada"}`]);
    }
  });

  it("without a header, a number column or an end of its quotes is refused", async () => {
    expect(await refusal("\n\n")).to.match(/^too_few/);
    expect(await refusal(`${NUMBER},Ada\n`)).to.match(/no column "to"/);
    expect(await refusal("to,to\n1,2\n")).to.match(/^duplicate_column/);
    const lines = Array.from({ length: 50_000 }, () => `${NUMBER},Ada`).join("\n");
    for (const rest of ["x,y", lines]) {
      const file = `to,name\n${NUMBER},"Ada\nB"\n${NUMBER},"Ada\n${rest}\n`;
      expect(await refusal(file)).to.match(/^invalid_csv: From line 4 on: .*quote is not closed/);
    }
  });

  it("of many pieces keeps characters that lie across two of them", async () => {
    const names = Array.from({ length: 20_000 }, (_, at) => `${"é€😀".repeat(at % 4)}${at}`);
    const lines = names.map((name, at) => `+23480${30_000_000 + at},${name}`);
    const found: string[] = [];
    for await (const row of readRecipientsCsv(Buffer.from(`to,name\n${lines.join("\n")}`))) {
      found.push("code" in row ? row.code : (row.variables.name ?? ""));
    }
    expect(found).to.deep.equal(names);
  });

  for (const [what, file, fault] of [
    ["lines", "to\n".padEnd(1_000_010, "1\n"), /^too_many: .* 500,000 lines/],
    ["line ends of old Macs", "to\r".padEnd(1_000_010, "1\r"), /^too_many: .* 500,000 lines/],
    ["commas", "to\n".padEnd(1_000_010, ","), /^too_many: .* 1,000,000 commas/],
    ["columns", `to${";".repeat(900_000)}`, /^too_many: .* 66 columns/],
  ] as const) {
    it(`with too many ${what} is refused`, async () => {
      expect(await refusal(file)).to.match(fault);
    });
  }

  it("with a header of thousands of names is refused for their number, before the search for doubles", async () => {
    const names = Array.from({ length: 40_000 }, (_, at) => at.toString(36));
    expect(await refusal(`to,${names.join(",")},to\n`)).to.match(/^too_many: .* 66 columns/);
  });

  it("with a long cell of white space is read in time that grows with its length", async () => {
    const startMs = performance.now();
    expect(await verdicts(`to\n'${" ".repeat(190_000)}'x\n`)).to.deep.equal(["2 too_long"]);
    // The square of the length took 20 s.
    expect(performance.now() - startMs).to.be.below(5000);
  });

  it("leaves the event loop to others while it is read", async () => {
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const found = await verdicts("to\n".padEnd(400_000, "1\n"));
    clearInterval(timer);
    expect(found).to.have.length(199_999);
    expect(turns).to.be.at.least(10);
  });

  it("is read no further when its caller has left", async () => {
    const leaving = new AbortController();
    let rows = 0;
    const reading = (async () => {
      for await (const _ of readRecipientsCsv(
        Buffer.from("to\n".padEnd(400_000, "1\n")),
        leaving.signal,
      )) {
        if (++rows === 1) leaving.abort(new Error("left"));
      }
    })();
    expect(await reading.then(String, String)).to.equal("Error: left");
    expect(rows).to.be.below(50_000);
  });
});
