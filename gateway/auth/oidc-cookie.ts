import { createSecretCookie } from "../../services/shared/web/secret-cookie.ts";

/**
 * The cookie of a browser that is at the OpenID Connect provider. The provider's page sends the browser back, so the
 * cookie is `SameSite=Lax`. It serves only to complete the sign-in that this browser began.
 */
export const OIDC_COOKIE = createSecretCookie("__Host-sms_oidc", "oid", "Lax");
