/**
 * Loads the code of every service once and ends, so that it is kept compiled (NODE_COMPILE_CACHE).
 * In a new clone each process would otherwise strip the types of the same files by itself, which
 * takes each of them half a second and 16 MB that it never gives back.
 */
import { flushCompileCache } from "node:module";

await Promise.all([
  // Without names of services it only says how it is used.
  import("../../services/main.ts"),
  import("../../services/shared/process.ts"),
  import("../../services/shared/core/phone.ts"),
  import("../../services/migrate.ts"),
  import("../../services/tenant/start.ts"),
  import("../../services/sender-id/start.ts"),
  import("../../services/wallet/start.ts"),
  import("../../services/routing/start.ts"),
  import("../../services/messaging/start.ts"),
  import("../../services/carrier/start.ts"),
  import("../../services/webhook/start.ts"),
  import("../../gateway/start.ts"),
]);
flushCompileCache();
process.exit(0);
