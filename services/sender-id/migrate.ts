export { shapeSenderIdDatabase as migrate } from "./store.ts";
