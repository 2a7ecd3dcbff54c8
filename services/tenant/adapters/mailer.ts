import { AppError } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { retry } from "../../shared/flow/retry.ts";
import { runDetached } from "../../shared/flow/run-detached.ts";
import type { Mail, Mailer } from "../app/identity-ports.ts";

/** Most mails that wait or are being sent; a further one is refused. */
const WAITING_MAX = 1000;
const ATTEMPTS_MAX = 4;

/**
 * Sends mails through the SMTP server of `url` (RFC 5321; TLS by `smtps:` or STARTTLS). A mail that fails is tried
 * again for some seconds, then given up and logged without its address: the person asks again.
 */
export function createMailer(options: {
  readonly url: string;
  readonly from: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}): Mailer & { close(): Promise<void> } {
  const { url, from, log, signal } = options;
  let transport: ReturnType<typeof connect> | undefined;
  let waiting = 0;

  /** Loads the library with the first mail: it takes 3 MB, and most processes send none. */
  async function connect() {
    const { createTransport } = await import("nodemailer");
    return createTransport(
      {
        url,
        pool: true,
        maxConnections: 4,
        connectionTimeout: 5000,
        greetingTimeout: 5000,
        socketTimeout: 10_000,
        disableFileAccess: true,
        disableUrlAccess: true,
      },
      { from },
    );
  }

  async function deliver(mail: Mail): Promise<void> {
    try {
      transport ??= connect();
      const opened = await transport;
      const bounds = { baseMs: 500, capMs: 5000, attemptsMax: ATTEMPTS_MAX, signal };
      await retry(() => opened.sendMail(mail), bounds);
    } catch (error) {
      log.error({ error, subject: mail.subject }, "a mail was not sent");
    } finally {
      waiting -= 1;
    }
  }

  return {
    send(mail) {
      if (url === "") {
        throw new AppError(
          "service_unavailable",
          "This installation sends no e-mail; ask its operators for a link to sign in.",
        );
      }
      if (waiting >= WAITING_MAX) {
        throw new AppError(
          "service_unavailable",
          "Too many mails wait to be sent; try again later.",
        );
      }
      waiting += 1;
      void runDetached(() => deliver(mail));
    },
    async close() {
      (await transport)?.close();
    },
  };
}
