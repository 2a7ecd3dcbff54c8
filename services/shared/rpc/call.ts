import { toAppError } from "./error-status.ts";

/** The answer of a call to another service; its failure becomes the `AppError` it stands for. */
export async function rpcAnswer<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw toAppError(error);
  }
}
