import { createSessionCookie } from "../../services/shared/web/session-cookie.ts";

/** The cookie of a console session of a tenant's person. That of an operator has another name. */
export const SESSION_COOKIE = createSessionCookie("__Host-sms_session", "ses");
