/** Rejected rows of an import from a list or a CSV file. A wrong row is rejected alone. */

/** Why a row is rejected. */
export type RowFault = {
  /** The line in a file, where the header is line 1, or the index in a list. */
  readonly line: number;
  readonly field: string;
  readonly code: string;
  readonly message: string;
};

/** The rejected rows of one import: all are counted, the first 100 are kept. */
export type RowFaults = {
  add(fault: RowFault): void;
  result(): { readonly rejected: number; readonly faults: readonly RowFault[] };
};

const KEPT_MAX = 100;

export function createRowFaults(): RowFaults {
  const faults: RowFault[] = [];
  let rejected = 0;
  return {
    add(fault) {
      rejected += 1;
      if (faults.length < KEPT_MAX) faults.push(fault);
    },
    result: () => ({ rejected, faults }),
  };
}

/** True for a fault, where a valid row is expected. */
export function isFault(checked: object): checked is RowFault {
  return "code" in checked;
}
