/** The numbers that handsets write to, and the words of each tenant. Operators change them. */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { invalidField } from "../../shared/core/limits.ts";
import type { InboundNumber } from "../domain/inbound.ts";
import { type Keywords, keywordFaults } from "../domain/keywords.ts";
import { suppressionFault } from "../domain/suppression.ts";
import type { SettingsStore } from "./ports.ts";

export type ConsentSettings = ReturnType<typeof createConsentSettings>;

const DIGITS = /^\d{3,15}$/;
const KEYWORD = /^\S{1,40}$/u;

export function createConsentSettings(store: SettingsStore, clock: Clock) {
  return {
    /** Errors: `validation_error`, `already_exists`. */
    async addNumber(given: Omit<InboundNumber, "id" | "createdAtMs">): Promise<InboundNumber> {
      const number = given.number.replace(/^\+/, "");
      if (!DIGITS.test(number)) {
        throw invalidField("number", "invalid_format", "has 3 to 15 digits");
      }
      if (given.keyword !== "" && !KEYWORD.test(given.keyword)) {
        throw invalidField("keyword", "invalid_format", "is one word of at most 40 characters");
      }
      const fault = suppressionFault({ sender: given.sender, reason: "" });
      if (fault !== undefined) throw invalidField("sender", fault.code, fault.message);
      const made: InboundNumber = {
        ...given,
        number,
        keyword: given.keyword.toUpperCase(),
        id: newId("inboundNumber"),
        createdAtMs: clock.now(),
      };
      await store.addNumber(made);
      return made;
    },
    listNumbers: (tenantId: string | undefined) => store.listNumbers(tenantId),
    /** Errors: `not_found`. */
    async removeNumber(tenantId: string, id: string): Promise<void> {
      if (await store.removeNumber(tenantId, id)) return;
      throw new AppError("not_found", "There is no such inbound number.");
    },
    keywords: (tenantId: string) => store.keywords(tenantId),
    /** Errors: `validation_error`. */
    async setKeywords(tenantId: string, keywords: Keywords): Promise<Keywords> {
      const fields = keywordFaults(keywords);
      if (fields.length > 0) {
        throw new AppError("validation_error", "Some keywords are not valid.", { fields });
      }
      await store.setKeywords(tenantId, keywords);
      return keywords;
    },
  };
}
