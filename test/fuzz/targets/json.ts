import assert from "node:assert/strict";
import { Ajv } from "ajv";
import { parseObject } from "../../../gateway/json/parse.ts";
import { BATCH_SEND, BULK_SEND, SINGLE_SEND } from "../../../gateway/schemas/sends.ts";
import { compileSchema } from "../../../gateway/schemas/validate.ts";
import { ENDPOINT_CHANGE, NEW_ENDPOINT, RECOVERY } from "../../../gateway/schemas/webhooks.ts";
import { canonicalJson, fingerprint } from "../../../services/shared/core/canonical-json.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { parseInstant } from "../../../services/shared/core/rfc3339.ts";
import type { FuzzTarget } from "../run-target.ts";
import { type BodySchema, randomValue } from "../schema-values.ts";

const SCHEMAS = [SINGLE_SEND, BULK_SEND, BATCH_SEND, NEW_ENDPOINT, ENDPOINT_CHANGE, RECOVERY];

const ajv = new Ajv({ strict: false, validateFormats: true });
ajv.addFormat("date-time", (text) => parseInstant(text) !== undefined);
ajv.addFormat("uri", true);
const CHECKS = SCHEMAS.map((schema) => ({
  faultsOf: compileSchema(schema),
  isValid: ajv.compile(schema),
}));

const SEEDS = [
  '{"to":"08031234567","from":"Acme","body":"Hello"}',
  '{"from":"Acme","body":"Hi","to":["08031234567","nobody"],"send_at":null}',
  '{"from":"Acme","messages":[{"to":"08031234567","body":"\\u0048i","client_reference":"a"}]}',
  '{"url":"https://example.com/x","event_types":["message.sent"]}',
  '{"a":1,"a":2}',
  '{"__proto__":{"x":1},"n":[1e999,-0,1.0,[[[[]]]]]}',
  `${'{"a":'.repeat(70)}1${"}".repeat(70)}`,
];

/** Bodies: parsed or rejected with a code; a parsed body has one canonical text and a validation result. */
export const jsonTarget: FuzzTarget = {
  name: "json",
  open: async () => ({
    seeds: SEEDS.map((text) => Buffer.from(text)),
    generate: (random) =>
      Buffer.from(JSON.stringify(randomValue(random.pick(SCHEMAS) as BodySchema, random))),
    check(input) {
      let body: ReturnType<typeof parseObject>;
      try {
        body = parseObject(input);
      } catch (error) {
        assert.ok(error instanceof AppError, `a named error, not ${error}`);
        assert.equal(error.code, "validation_error");
        assert.equal(error.fields[0]?.code, "invalid_json");
        return;
      }
      const text = canonicalJson(body.value);
      assert.equal(canonicalJson(JSON.parse(text)), text, "the canonical text is its own");
      const reversed = Object.fromEntries(Object.entries(body.value).reverse());
      assert.deepEqual(fingerprint(reversed), fingerprint(body.value), "order does not matter");
      for (const { faultsOf, isValid } of CHECKS) {
        const faults = faultsOf(body.value, body.size);
        assert.equal(faults.length === 0, isValid(body.value), "no fault means valid");
        for (const { field, code, message } of faults) {
          assert.match(code, /^[a-z_]+$/);
          assert.ok(field.length <= 400 && message.length > 0, "a fault can be shown");
        }
      }
      assert.equal(({} as Record<string, unknown>).x, undefined, "no object was changed");
    },
    close: async () => undefined,
  }),
};
