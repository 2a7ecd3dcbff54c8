export { shapeTenantDatabase as migrate } from "./store/tenant-store.ts";
