/** A client that refuses methods outside the list of its caller, before it sends anything. */
import type { DescService } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";

/** `methods` are full names; another one throws, because a server would refuse the caller. */
export function restrictMethods(
  transport: Transport,
  service: DescService,
  caller: string,
  methods: readonly string[],
): Transport {
  const permitted = new Set(
    service.methods.filter(({ name }) => methods.includes(`${service.typeName}/${name}`)),
  );
  function check(method: (typeof service.methods)[number]): void {
    if (permitted.has(method)) return;
    throw new Error(`${caller} calls ${service.typeName}/${method.name}, which is not in its list`);
  }
  return {
    unary(method, ...call) {
      check(method);
      return transport.unary(method, ...call);
    },
    stream(method, ...call) {
      check(method);
      return transport.stream(method, ...call);
    },
  };
}
