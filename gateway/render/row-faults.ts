/** A rejected row of an import, as the services answer it. */
type RowFault = {
  readonly line: number;
  readonly field: string;
  readonly code: string;
  readonly message: string;
};

/** Renders the rejected rows of an import. */
export function renderRowFaults(faults: readonly RowFault[]): RowFault[] {
  return faults.map(({ line, field, code, message }) => ({ line, field, code, message }));
}
