import { createSecretCookie } from "../../services/shared/web/secret-cookie.ts";

/** The cookie of a console session of a tenant's person. An operator's cookie has another name. */
export const SESSION_COOKIE = createSecretCookie("__Host-sms_session", "ses");
