/** Signature headers of webhooks, and whether a receiver must accept each. */
import { signingKey, signWebhook } from "../../services/shared/core/webhook-signature.ts";

const NOW_S = 1_776_248_430;
const SECRET = "whsec_zYq0uE1v3S5nB7mK9pL2dF4gH6jA8cQ";
const BODY = Buffer.from('{"data":{"object":{"body":"₦5 “ok” 😀"}},"id":"evt_1"}');

/** One received webhook. */
export type SignatureVector = {
  readonly name: string;
  /** As octets, Latin-1; undefined when the request has none. */
  readonly header: string | undefined;
  readonly body: Buffer;
  readonly secret: string;
  readonly nowS: number;
  readonly genuine: boolean;
};

const sign = (secrets: readonly string[], t = NOW_S) =>
  signWebhook(secrets.map(signingKey), t, BODY);

const good = { body: BODY, secret: SECRET, nowS: NOW_S, genuine: true };
const bad = { ...good, genuine: false };
/** Every vector. */
export const SIGNATURE_VECTORS: readonly SignatureVector[] = [
  { ...good, name: "signed now", header: sign([SECRET]) },
  { ...good, name: "300 s old", header: sign([SECRET]), nowS: NOW_S + 300 },
  { ...good, name: "300 s ahead", header: sign([SECRET]), nowS: NOW_S - 300 },
  { ...good, name: "rotation, new secret", header: sign([SECRET, "whsec_old"]) },
  { ...good, name: "rotation, old secret", header: sign(["whsec_new", SECRET]) },
  { ...good, name: "unknown keys", header: `v0=1,${sign([SECRET])},v2=2` },
  { ...good, name: "signed in this very second", header: sign([SECRET]), nowS: NOW_S + 0.999 },
  { ...good, name: "a clock 299.9 s fast", header: sign([SECRET]), nowS: NOW_S + 299.9 },
  { ...good, name: "a clock 299.9 s slow", header: sign([SECRET]), nowS: NOW_S - 299.9 },
  { ...bad, name: "a clock 300.1 s fast", header: sign([SECRET]), nowS: NOW_S + 300.1 },
  { ...bad, name: "a clock 300.1 s slow", header: sign([SECRET]), nowS: NOW_S - 300.1 },
  { ...bad, name: "a clock a day fast", header: sign([SECRET]), nowS: NOW_S + 86_400 },
  { ...bad, name: "a clock a day slow", header: sign([SECRET]), nowS: NOW_S - 86_400 },
  { ...bad, name: "a clock that stands at zero", header: sign([SECRET]), nowS: 0 },
  { ...bad, name: "301 s old", header: sign([SECRET]), nowS: NOW_S + 301 },
  { ...bad, name: "301 s ahead", header: sign([SECRET]), nowS: NOW_S - 301 },
  { ...bad, name: "another secret", header: sign(["whsec_other"]) },
  { ...bad, name: "a secret without its prefix", header: sign([SECRET.slice(6)]) },
  { ...bad, name: "another body", header: sign([SECRET]), body: Buffer.from(`${BODY} `) },
  { ...bad, name: "another time", header: sign([SECRET]).replace(`${NOW_S}`, `${NOW_S + 1}`) },
  { ...bad, name: "a shortened signature", header: sign([SECRET]).slice(0, -1) },
  { ...bad, name: "an empty signature", header: `t=${NOW_S},v1=` },
  { ...bad, name: "no signature", header: `t=${NOW_S}` },
  { ...bad, name: "no time", header: sign([SECRET]).replace(/^t=\d+,/, "") },
  { ...bad, name: "a time that is no number", header: sign([SECRET]).replace(/^t=\d+/, "t=now") },
  { ...bad, name: "a negative time", header: sign([SECRET]).replace(/^t=/, "t=-") },
  { ...bad, name: "an empty header", header: "" },
  { ...bad, name: "no key and value", header: "garbage" },
  { ...bad, name: "no header at all", header: undefined },
  ...hostileVectors(),
];

/** Headers that no sender of ours makes, and what each is worth. */
function hostileVectors(): SignatureVector[] {
  const [t, hex] = [`t=${NOW_S}`, sign([SECRET]).split("v1=")[1] ?? ""];
  const utf8 = (text: string) => Buffer.from(text).toString("latin1");
  const refused: Readonly<Record<string, string>> = {
    "a signature and =": `${t},v1=${hex}=`,
    "a signature and more after =": `${t},v1=${hex}=0`,
    "= before the signature": `${t},v1==${hex}`,
    "a time and =": `${t}=,v1=${hex}`,
    "a signature in upper case": `${t},v1=${hex.toUpperCase()}`,
    "keys in upper case": `T=${NOW_S},V1=${hex}`,
    "an odd number of digits": `${t},v1=${hex}0`,
    "one octet more": `${t},v1=${hex}00`,
    "half of it": `${t},v1=${hex.slice(0, 32)}`,
    "letters that are no digits": `${t},v1=${"z".repeat(64)}`,
    "a signature in two entries": `${t},v1=${hex.slice(0, 32)},v1=${hex.slice(32)}`,
    "octets that are not ASCII": `${t},v1=${"\xff".repeat(64)}`,
    "characters that are not ASCII": `${t},v1=${utf8("é☂😀").repeat(8)}`,
    "a signature and a character that is not ASCII": `${t},v1=${hex}${utf8("é")}`,
    "digits of another script": `t=${utf8("١٧٧٦٢٤٨٤٣٠")},v1=${hex}`,
    "a time and a character that is not ASCII": `${t}\xb2,v1=${hex}`,
    "a signature and a zero octet": `${t},v1=${hex}\0`,
    "a signature and a line end": `${t},v1=${hex}\n`,
    "a time and a line end": `${t}\n,v1=${hex}`,
    "a space after the comma": `${t}, v1=${hex}`,
    "a space before the signature": `${t},v1= ${hex}`,
    "a space after the signature": `${t},v1=${hex} `,
    "a space before the time": `t= ${NOW_S},v1=${hex}`,
    "a tab after the time": `${t}\t,v1=${hex}`,
    "a time with a sign": `t=+${NOW_S},v1=${hex}`,
    "a time in hexadecimal": `t=0x${NOW_S.toString(16)},v1=${hex}`,
    "a time with a fraction": `${t}.0,v1=${hex}`,
    "a time with 20 digits": `t=${`${NOW_S}`.padStart(20, "0")},v1=${hex}`,
    "an endless time": `t=${"9".repeat(100_000)},v1=${hex}`,
    "an endless signature": `${t},v1=${"0".repeat(1_000_000)}`,
    "another time first": `t=1,${t},v1=${hex}`,
    "an empty time first": `t=,${t},v1=${hex}`,
    "commas alone": ",".repeat(1000),
    "equals signs alone": "=".repeat(1000),
  };
  const accepted: Readonly<Record<string, string>> = {
    "the signature first": `v1=${hex},${t}`,
    "the signature twice": `${t},v1=${hex},v1=${hex}`,
    "a wrong signature before it": `${t},v1=${"0".repeat(64)},v1=${hex}`,
    "a wrong signature after it": `${t},v1=${hex},v1=`,
    "a hostile signature before it": `${t},v1=\xff=\0,v1=${hex}`,
    "10,000 wrong signatures before it": `${t}${`,v1=${"0".repeat(64)}`.repeat(10_000)},v1=${hex}`,
    "another time after it": `${t},t=1,v1=${hex}`,
    "an entry without a value before it": `t,v1,${t},v1=${hex}`,
    "other keys that are not ASCII": `\xff=\xff,${utf8("é=é")},${t},v1=${hex}`,
    "empty entries": `,,${t},,v1=${hex},,`,
  };
  const vectors = (of: Readonly<Record<string, string>>, kind: typeof good) =>
    Object.entries(of).map(([name, header]) => ({ ...kind, name, header }));
  return [...vectors(refused, bad), ...vectors(accepted, good)];
}

/** The vectors as every driver reads them: four fields a line; a dash means no header. */
export const SIGNATURE_VECTOR_LINES = SIGNATURE_VECTORS.map(({ header, body, secret, nowS }) => {
  const octets = header === undefined ? "-" : Buffer.from(header, "latin1").toString("base64");
  return [octets, body.toString("base64"), secret, nowS].join("\t");
}).join("\n");
