/** The mails of a stack: its receiver prints them to its log. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./poll.ts";

/** Reads links from mails. */
export type Mailbox = {
  /**
   * The token of the newest mail to an address with a token of that kind (`sgn`, `inv`); waits for it, and until the
   * address has as many mails as `least`.
   */
  tokenFor(email: string, kind: string, least?: number): Promise<string>;
  /** How many mails went to an address. */
  count(email: string): number;
};

export function openMailbox(stackDir: string): Mailbox {
  const mailsTo = (email: string) =>
    readFileSync(join(stackDir, "log", "receiver.log"), "utf8")
      .split("--- mail ")
      .filter((mail) => mail.includes(`To: ${email}\r\n`) || mail.includes(`To: ${email}\n`));
  return {
    async tokenFor(email, kind, least = 1) {
      const form = new RegExp(`#(${kind}_[A-Za-z0-9_-]{43})`);
      let token = "";
      await eventually(async () => {
        const mails = mailsTo(email);
        if (mails.length < least) return false;
        token = mails.flatMap((mail) => form.exec(mail)?.[1] ?? []).at(-1) ?? "";
        return token !== "";
      });
      return token;
    },
    count: (email) => mailsTo(email).length,
  };
}
