import { toAppError } from "./error-status.ts";

/** Awaits a call to another service; converts its failure to the `AppError` that the service sent. */
export async function rpcAnswer<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw toAppError(error);
  }
}
