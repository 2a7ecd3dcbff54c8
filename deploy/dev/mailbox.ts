import { SMTPServer } from "smtp-server";

/**
 * Everybody's mailbox, for development: takes mail over SMTP on loopback and prints it, so that `make logs S=mail`
 * shows it. It keeps nothing.
 */
export function openMailbox(port: number): void {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    size: 1_048_576,
    onData(stream, _session, done) {
      let text = "";
      stream.setEncoding("utf8");
      stream.on("data", (chunk: string) => {
        text += chunk;
      });
      stream.once("end", () => {
        process.stdout.write(`--- mail ${new Date().toISOString()}\n${readable(text)}\n`);
        done();
      });
    },
  });
  server.on("error", (error) => process.stderr.write(`mailbox: ${error.message}\n`));
  server.listen(port, "127.0.0.1");
}

/** Joins the lines that quoted-printable has broken (RFC 2045 section 6.7), so that a link is whole. */
function readable(text: string): string {
  if (!/^content-transfer-encoding: *quoted-printable/im.test(text)) return text;
  return text
    .replace(/=\r?\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
