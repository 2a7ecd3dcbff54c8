/** The texts of mails. Plain text only, so that a link shows its real address. */

export function signInMail(to: string, url: string) {
  return {
    to,
    subject: "Your sign-in link",
    text: `Open this link to sign in. It works once, for 15 minutes:

${url}

If you did not ask for it, ignore this mail: without the link nobody can sign in.
`,
  };
}

export function invitationMail(to: string, tenantName: string, url: string) {
  return {
    to,
    // A line end in a name would begin another header.
    subject: `You are invited to ${tenantName.replace(/\s+/g, " ")}`,
    text: `You are invited to the messaging account "${tenantName}".

Open this link to join. It works once, for 7 days:

${url}
`,
  };
}
