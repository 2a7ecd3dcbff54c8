import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { isGenuine } from "../../../gateway/docs/webhook-verification/verify.ts";
import { findSignatureFault } from "../../../services/shared/core/webhook-signature.ts";
import { SIGNATURE_VECTOR_LINES, SIGNATURE_VECTORS } from "../../support/signature-vectors.ts";
import { skipSince } from "../../support/skip.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const SNIPPETS = join(import.meta.dirname, "../../../gateway/docs/webhook-verification");
const PYTHON_DRIVER = `
import base64, sys
from verify import is_genuine
for line in sys.stdin.read().split("\\n"):
    header, body, secret, now = line.split("\\t")
    octets = None if header == "-" else base64.b64decode(header)
    # WSGI servers decode headers as Latin-1, some others as UTF-8 with surrogates.
    forms = [None] if octets is None else [
        octets.decode("latin-1"),
        octets.decode("utf-8", "surrogateescape"),
    ]
    found = {is_genuine(form, base64.b64decode(body), secret, float(now)) for form in forms}
    print("differs" if len(found) > 1 else int(found.pop()))
`;

const GO_DRIVER = `package webhook

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestVectors(t *testing.T) {
	input, _ := io.ReadAll(os.Stdin)
	for _, line := range strings.Split(string(input), "\\n") {
		field := strings.Split(line, "\\t")
		// http.Header.Get returns an empty text for a missing header.
		header, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(field[0], "-"))
		body, _ := base64.StdEncoding.DecodeString(field[1])
		now, _ := strconv.ParseFloat(field[3], 64)
		if IsGenuine(string(header), body, field[2], time.UnixMilli(int64(now*1000))) {
			fmt.Println("1")
		} else {
			fmt.Println("0")
		}
	}
}
`;

const PHP_DRIVER = `<?php
require __DIR__ . '/verify.php';
foreach (explode("\\n", stream_get_contents(STDIN)) as $line) {
    [$header, $body, $secret, $now] = explode("\\t", $line);
    $header = $header === '-' ? null : base64_decode($header);
    echo is_genuine($header, base64_decode($body), $secret, (float) $now) ? "1\\n" : "0\\n";
}
`;

const JAVA_DRIVER = `
import java.nio.charset.StandardCharsets;
import java.util.Base64;

class Driver {
  public static void main(String[] args) throws Exception {
    String input = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
    for (String line : input.split("\\n")) {
      String[] field = line.split("\\t");
      byte[] octets = field[0].equals("-") ? null : Base64.getDecoder().decode(field[0]);
      String header = octets == null ? null : new String(octets, StandardCharsets.ISO_8859_1);
      byte[] body = Base64.getDecoder().decode(field[1]);
      double now = Double.parseDouble(field[3]);
      System.out.println(WebhookVerifier.isGenuine(header, body, field[2], now) ? 1 : 0);
    }
  }
}
`;

/** How to run a language's snippet over the vectors. */
type Language = {
  readonly name: string;
  readonly probe: readonly string[];
  readonly snippet: string;
  readonly files: Readonly<Record<string, string>>;
  readonly build?: readonly string[];
  readonly run: readonly string[];
};

const LANGUAGES: readonly Language[] = [
  {
    name: "Python",
    probe: ["python3", "--version"],
    snippet: "verify.py",
    files: { "driver.py": PYTHON_DRIVER },
    run: ["python3", "driver.py"],
  },
  {
    name: "Go",
    probe: ["go", "version"],
    snippet: "verify.go",
    files: { "driver_test.go": GO_DRIVER, "go.mod": "module example.test/webhook\n\ngo 1.21\n" },
    build: ["go", "test", "-c", "-o", "driver", "."],
    run: ["./driver"],
  },
  {
    name: "PHP",
    probe: ["php", "--version"],
    snippet: "verify.php",
    files: { "driver.php": PHP_DRIVER },
    run: ["php", "driver.php"],
  },
  {
    name: "Java",
    probe: ["javac", "-version"],
    snippet: "WebhookVerifier.java",
    files: { "Driver.java": JAVA_DRIVER },
    build: ["javac", "Driver.java", "WebhookVerifier.java"],
    run: ["java", "-cp", ".", "Driver"],
  },
];

describe("the signature check of receivers", () => {
  const wanted = SIGNATURE_VECTORS.map(({ name, genuine }) => `${name}: ${genuine}`);

  it("our own verifier agrees with every vector", () => {
    const found = SIGNATURE_VECTORS.map(({ name, header, body, secret, nowS }) => {
      const check = { header: header ?? "", rawBody: body, secrets: [secret], nowMs: nowS * 1000 };
      return `${name}: ${findSignatureFault(check) === undefined}`;
    });
    expect(found).to.deep.equal(wanted);
  });

  it("the TypeScript snippet agrees with every vector", () => {
    const found = SIGNATURE_VECTORS.map(
      ({ name, header, body, secret, nowS }) => `${name}: ${isGenuine(header, body, secret, nowS)}`,
    );
    expect(found).to.deep.equal(wanted);
  });

  for (const { name, probe, snippet, files, build, run } of LANGUAGES) {
    it(`the ${name} snippet agrees with every vector`, function () {
      this.timeout(120_000);
      const [program = "", ...args] = probe;
      // A machine without the language's tools skips its snippet.
      if (spawnSync(program, args).error !== undefined) skipSince(this, `there is no ${program}`);
      const cwd = temporaryFolder("verify");
      try {
        copyFileSync(join(SNIPPETS, snippet), join(cwd, snippet));
        for (const [file, text] of Object.entries(files)) writeFileSync(join(cwd, file), text);
        const options = { cwd, env: { ...process.env, GOTOOLCHAIN: "local" } };
        if (build !== undefined) execFileSync(build[0] ?? "", build.slice(1), options);
        const output = execFileSync(run[0] ?? "", run.slice(1), {
          ...options,
          input: SIGNATURE_VECTOR_LINES,
        });
        const answers = output.toString().match(/^[01]$/gm) ?? [];
        const found = SIGNATURE_VECTORS.map(
          (vector, at) => `${vector.name}: ${answers[at] === "1"}`,
        );
        expect(found).to.deep.equal(wanted);
        expect(answers.length).to.equal(SIGNATURE_VECTORS.length);
      } finally {
        rmSync(cwd, { recursive: true });
      }
    });
  }
});
