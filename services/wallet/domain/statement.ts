import { AppError } from "../../shared/core/errors.ts";

/** Encodes a position in a statement as a cursor. */
export function encodePlace(place: {
  readonly sequence: number;
  readonly position: number;
}): string {
  return `${place.sequence}.${place.position}`;
}

/** Decodes a cursor; throws `validation_error` for any other text. */
export function decodePlace(cursor: string): { sequence: number; position: number } {
  const match = /^(\d{1,15})\.(\d{1,6})$/.exec(cursor);
  if (match === null) {
    throw new AppError("validation_error", "The cursor is not valid.", {
      fields: [{ field: "cursor", code: "invalid_value", message: "is not a cursor" }],
    });
  }
  return { sequence: Number(match[1]), position: Number(match[2]) };
}
