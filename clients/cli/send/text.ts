/** The text of a row: `{{name}}` stands for the cell of the column `name`, as in campaigns. */
import { AppError } from "../../../services/shared/core/errors.ts";

export type RowText = {
  /** The columns that the text needs. */
  readonly names: readonly string[];
  /** The text for one row; or the first name whose cell is empty. */
  readonly fill: (
    cells: ReadonlyMap<string, string>,
  ) => { readonly body: string } | { readonly missing: string };
};

/** Throws for braces that are no placeholder: customers would read them. */
export function parseText(body: string): RowText {
  // Odd pieces are the names between braces.
  const pieces = body.split(/\{\{([^{}]*)\}\}/);
  const names = pieces.filter((_, at) => at % 2 === 1).map((name) => name.trim());
  const stray = pieces.find((piece, at) => at % 2 === 0 && /\{\{|\}\}/.test(piece));
  if (stray !== undefined || names.includes("")) {
    throw new AppError(
      "validation_error",
      "--body has braces that are no placeholder such as {{name}}.",
    );
  }
  return {
    names: [...new Set(names)],
    fill(cells) {
      const missing = names.find((name) => (cells.get(name) ?? "").trim() === "");
      if (missing !== undefined) return { missing };
      const text = pieces.map((piece, at) => (at % 2 === 0 ? piece : cells.get(piece.trim())));
      return { body: text.join("") };
    },
  };
}
