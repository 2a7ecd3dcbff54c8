import type { Random } from "./random.ts";

/** Inputs never grow beyond this: limits of size have tests of their own. */
const BYTES_MAX = 4096;

/** Octets that formats give a meaning, or that arithmetic stumbles over. */
const TELLING = [0x00, 0x01, 0x0a, 0x0d, 0x1b, 0x20, 0x22, 0x2b, 0x2e, 0x30, 0x3a, 0x5c, 0x7f];
const EDGES = [...TELLING, 0x80, 0xc0, 0xed, 0xfe, 0xff];

type Mutation = (input: Buffer, random: Random, others: readonly Buffer[]) => Buffer;

const place = (input: Buffer, random: Random) => random.below(input.length + 1);

const MUTATIONS: readonly Mutation[] = [
  function flipBit(input, random) {
    const copy = Buffer.from(input);
    if (copy.length > 0) {
      const at = random.below(copy.length);
      copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
    }
    return copy;
  },
  function setOctet(input, random) {
    const copy = Buffer.from(input);
    if (copy.length > 0) copy[random.below(copy.length)] = random.pick(EDGES);
    return copy;
  },
  function insertOctets(input, random) {
    const at = place(input, random);
    const some = Buffer.from(Array.from({ length: 1 + random.below(8) }, () => random.below(256)));
    return Buffer.concat([input.subarray(0, at), some, input.subarray(at)]);
  },
  function insertOneOften(input, random) {
    const at = place(input, random);
    const run = Buffer.alloc(1 + random.below(random.oneIn(8) ? 1500 : 20), random.pick(EDGES));
    return Buffer.concat([input.subarray(0, at), run, input.subarray(at)]);
  },
  function remove(input, random) {
    const from = place(input, random);
    const to = Math.min(input.length, from + 1 + random.below(random.oneIn(4) ? 200 : 6));
    return Buffer.concat([input.subarray(0, from), input.subarray(to)]);
  },
  function cut(input, random) {
    return input.subarray(0, place(input, random));
  },
  function repeat(input, random) {
    const from = place(input, random);
    const part = input.subarray(from, from + 1 + random.below(40));
    const at = place(input, random);
    return Buffer.concat([input.subarray(0, at), part, input.subarray(at)]);
  },
  function splice(input, random, others) {
    const other = random.pick(others);
    return Buffer.concat([
      input.subarray(0, place(input, random)),
      other.subarray(place(other, random)),
    ]);
  },
  function changeLength(input, random) {
    // Two or four octets that may be a length, a count or an offset.
    const copy = Buffer.from(input);
    const value = random.pick([
      0, 1, 15, 16, 17, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff,
    ]);
    if (copy.length >= 4 && random.oneIn(2))
      copy.writeUInt32BE(value, random.below(copy.length - 3));
    else if (copy.length >= 2) copy.writeUInt16BE(value & 0xffff, random.below(copy.length - 1));
    return copy;
  },
];

/** A changed copy of an input: one to six changes, some of them pieces of `others`. */
export function mutate(input: Buffer, random: Random, others: readonly Buffer[]): Buffer {
  let changed = input;
  for (let left = 1 + random.below(random.oneIn(3) ? 6 : 2); left > 0; left -= 1) {
    changed = random.pick(MUTATIONS)(changed, random, others);
  }
  return changed.subarray(0, BYTES_MAX);
}
