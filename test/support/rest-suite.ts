/** The set-up that test files of single REST operations share. */
import { type CheckedCall, openCheckedCall } from "./openapi-check.ts";
import {
  type Customer,
  type CustomerOptions,
  type RestAnswer,
  type RestCall,
  type RestStack,
  sharedRestStack,
} from "./rest.ts";

/** The shared stack, a customer on it, and calls whose answers are checked against the OpenAPI document. */
export type RestSuite = {
  readonly rest: RestStack;
  readonly customer: Customer;
  /** A call as any customer. */
  readonly checkedCall: CheckedCall;
  /** A call as the suite's customer. */
  call(method: string, path: string, options?: RestCall): Promise<RestAnswer>;
};

/**
 * Opens it before the tests of the enclosing `describe`; until then `rest` and `customer` are empty. With `perTest`
 * each test has a customer of its own.
 */
export function useRestSuite(
  options: CustomerOptions & { readonly perTest?: boolean } = {},
): RestSuite {
  const { perTest = false, ...customerOptions } = options;
  const rest = {} as RestStack;
  const customer = {} as Customer;
  let checked: CheckedCall | undefined;
  const addCustomer = async () => {
    Object.assign(customer, await rest.addCustomer(customerOptions));
  };
  before(async function () {
    this.timeout(120_000);
    Object.assign(rest, await sharedRestStack());
    checked = await openCheckedCall(rest);
    if (!perTest) await addCustomer();
  });
  if (perTest) beforeEach(addCustomer);
  const checkedCall: CheckedCall = (caller, ...call) => {
    if (checked === undefined) throw new Error("the suite is not open");
    return checked(caller, ...call);
  };
  return {
    ...{ rest, customer, checkedCall },
    call: (method, path, callOptions) => checkedCall(customer, method, path, callOptions),
  };
}
