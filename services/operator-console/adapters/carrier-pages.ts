import { AppError } from "../../shared/core/errors.ts";
import type { Routes } from "./routes.ts";

const TIMEOUT_MS = 10_000;

/** The route for a page of a carrier's ops port; no RPC returns this data. */
export function carrierRoutes(opsUrl: string, token: string): Routes["fixed"] {
  return {
    "GET unmatched-receipts": async () => {
      if (opsUrl === "") {
        throw new AppError("not_found", "The setting CARRIER_OPS names no carrier.");
      }
      return { data: await fetchPage(new URL("/unmatched-receipts", opsUrl), token) };
    },
  };
}

async function fetchPage(url: URL, token: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, { headers, signal });
    if (response.ok) return await response.json();
    throw new Error(`it answered ${response.status}`);
  } catch (cause) {
    throw new AppError("service_unavailable", "The carrier does not answer.", { cause });
  }
}
