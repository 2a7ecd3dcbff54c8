/** The parameters `limit` and `cursor` of every list. */
import { PAGE_DEFAULT, PAGE_MAX } from "../../services/shared/core/limits.ts";

export const LIMIT = {
  type: "integer",
  description:
    "The most entries of a page. A page may have fewer: only a null `next_cursor` means the end.",
  minimum: 1,
  maximum: PAGE_MAX,
  default: PAGE_DEFAULT,
} as const;

export const CURSOR = {
  type: "string",
  description: "The next_cursor of the previous page, with the same filters.",
  maxLength: 256,
} as const;
