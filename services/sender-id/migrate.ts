export { shapeSenderIdDatabase as migrate } from "./store/sender-id-store.ts";
