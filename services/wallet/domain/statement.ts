import { AppError } from "../../shared/core/errors.ts";

/** Writes a place in a wallet's statement as a cursor. */
export function encodePlace(place: {
  readonly sequence: number;
  readonly position: number;
}): string {
  return `${place.sequence}.${place.position}`;
}

/** Reads a cursor; anything that is not one is `validation_error`. */
export function decodePlace(cursor: string): { sequence: number; position: number } {
  const match = /^(\d{1,15})\.(\d{1,6})$/.exec(cursor);
  if (match === null) {
    throw new AppError("validation_error", "The cursor is not valid.", {
      fields: [{ field: "cursor", code: "invalid_value", message: "is not a cursor" }],
    });
  }
  return { sequence: Number(match[1]), position: Number(match[2]) };
}
