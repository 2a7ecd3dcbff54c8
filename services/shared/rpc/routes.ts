/** Collects what services register with Connect's router, without any protocol handlers. */
import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import {
  type ConnectRouter,
  createMethodImplSpec,
  createServiceImplSpec,
  type Interceptor,
  type MethodImplSpec,
} from "@connectrpc/connect";

/** A function that registers services: `(router) => router.service(WalletService, impl)`. */
export type Routes = (router: ConnectRouter) => void;

/** One method, ready to be served: its implementation, and its codec made once. */
export type Route = {
  /** `/sms.v1.WalletService/GetWallet` */
  readonly path: string;
  /** `sms.v1.WalletService/GetWallet` */
  readonly name: string;
  readonly spec: MethodImplSpec;
  readonly interceptors: readonly Interceptor[];
  /** Health and reflection: no authentication, and never refused for load. */
  readonly isOpen: boolean;
  readonly decode: (bytes: Uint8Array) => Message;
  readonly encode: (message: Message) => Buffer;
};

/** Lists the methods that `routes` registers. Throws when a method is registered twice. */
export function collectRoutes(
  routes: Routes,
  interceptors: readonly Interceptor[] = [],
): Map<string, Route> {
  const collected = new Map<string, Route>();

  function add(spec: MethodImplSpec, own: readonly Interceptor[] | undefined): void {
    const service = spec.method.parent.typeName;
    const name = `${service}/${spec.method.name}`;
    const path = `/${name}`;
    if (collected.has(path)) throw new Error(`${name} is registered twice`);
    collected.set(path, {
      path,
      name,
      spec,
      interceptors: own === undefined ? interceptors : [...interceptors, ...own],
      isOpen: service.startsWith("grpc."),
      decode: decoder(spec.method.input),
      encode: encoder(spec.method.output),
    });
  }

  const router: ConnectRouter = {
    handlers: [],
    service(service, implementation, options) {
      const { methods } = createServiceImplSpec(service, implementation);
      for (const spec of Object.values(methods)) add(spec, options?.interceptors);
      return router;
    },
    rpc(method, implementation, options) {
      add(createMethodImplSpec(method, implementation), options?.interceptors);
      return router;
    },
  };
  routes(router);
  return collected;
}

/** A decoder of one message type. */
export function decoder(desc: DescMessage): (bytes: Uint8Array) => Message {
  return (bytes) => fromBinary(desc, bytes);
}

/** An encoder of one message type, to a `Buffer` over the same memory. */
export function encoder(desc: DescMessage): (message: Message) => Buffer {
  return (message) => {
    const bytes = toBinary(desc, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}
