export { shapeTenantDatabase as migrate } from "./store.ts";
