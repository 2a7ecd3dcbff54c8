import type { Random } from "./random.ts";

type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** The part of JSON Schema that request bodies use. */
export type BodySchema = {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, BodySchema>>;
  readonly items?: BodySchema;
  readonly enum?: readonly Json[];
  readonly examples?: readonly Json[];
  readonly maxLength?: number;
  readonly format?: string;
};

const TEXTS = [
  ...["", " ", "08031234567", "+2348031234567", "Acme", "Hello", "😀", "\ud83d", "a\0b", "\u202e"],
  ...["2026-12-01T10:00:00Z", "2026-02-31T10:00:00Z", "99999999999999999999", "__proto__"],
  ...["{{name}}", "<script>", "' OR 1=1 --", "$where", "../../etc", "https://example.com/x"],
];
const STRAYS: readonly Json[] = [null, true, 0, -1, 1e308, 2 ** 53, "", [], {}, [[]], { a: {} }];
const NAMES = ["__proto__", "constructor", "toString", "tO", "to ", "$gt", "a.b", "", "length"];

/** A value that a schema asks for, or nearly: now and then something is of another type, too much or missing. */
export function randomValue(schema: BodySchema, random: Random, depth = 0): Json {
  if (random.oneIn(12)) return random.pick(STRAYS);
  if (schema.enum !== undefined) return random.pick(schema.enum);
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? ["object"]);
  switch (random.pick(types)) {
    case "object":
      return objectOf(schema, random, depth);
    case "array":
      return Array.from({ length: random.below(4) }, () =>
        randomValue(schema.items ?? {}, random, depth + 1),
      );
    case "string":
      return textOf(schema, random);
    case "integer":
    case "number":
      return random.below(1000) - 10;
    case "boolean":
      return random.oneIn(2);
    default:
      return null;
  }
}

function objectOf(schema: BodySchema, random: Random, depth: number): Json {
  // Without a prototype, so that a member called __proto__ is one like any other.
  const made: { [name: string]: Json } = Object.create(null);
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    if (!random.oneIn(6)) made[name] = randomValue(member, random, depth + 1);
  }
  if (random.oneIn(8)) made[random.pick(NAMES)] = random.pick(STRAYS);
  return made;
}

function textOf({ examples, maxLength, format }: BodySchema, random: Random): Json {
  if (examples !== undefined && !random.oneIn(3)) return random.pick(examples);
  if (format === "date-time" && random.oneIn(2)) {
    return new Date(random.below(4_102_444_800) * 1000).toISOString();
  }
  if (random.oneIn(6)) return "x".repeat((maxLength ?? 20) + random.below(3) - 1);
  return random.pick(TEXTS);
}
