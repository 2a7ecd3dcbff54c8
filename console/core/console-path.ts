/** The page has the name of its console. */
const { dataset } = document.documentElement;

/** The path below which all pages of this console are. */
export const ROOT = `/${dataset.console ?? "console"}`;

/** The end of every page's title. */
export const TITLE = ROOT === "/operators" ? "Operators" : "Console";

/** The key of the page that opens after the next sign-in. */
const AFTER_KEY = `sms${ROOT}-after`;

/** Opens the sign-in page after the end of a session; a sign-in then returns to this page. */
export function signedOut(): void {
  if (location.pathname === `${ROOT}/sign-in`) return;
  sessionStorage.setItem(AFTER_KEY, location.pathname + location.search);
  location.assign(`${ROOT}/sign-in`);
}

/** The page that was open when the session ended; never an address elsewhere. */
export function pageAfter(): string {
  const after = sessionStorage.getItem(AFTER_KEY) ?? "";
  sessionStorage.removeItem(AFTER_KEY);
  const isOwn = new RegExp(`^${ROOT}(?:/[\\w/-]*)?(?:\\?[\\w=&%.+:-]*)?$`);
  return isOwn.test(after) ? after : ROOT;
}
