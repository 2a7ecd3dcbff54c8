/** Collects the services registered with Connect's router, without any protocol handlers. */
import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import {
  type ConnectRouter,
  createMethodImplSpec,
  createServiceImplSpec,
  type MethodImplSpec,
} from "@connectrpc/connect";

/** A function that registers services: `(router) => router.service(WalletService, impl)`. */
export type Routes = (router: ConnectRouter) => void;

/** One method, ready to be served: its implementation and its codec. */
export type Route = {
  /** `/sms.v1.WalletService/GetWallet` */
  readonly path: string;
  /** `sms.v1.WalletService/GetWallet` */
  readonly name: string;
  readonly spec: MethodImplSpec;
  /** True for health and reflection: no authentication, and no load shedding. */
  readonly isOpen: boolean;
  readonly decode: (bytes: Uint8Array) => Message;
  readonly encode: (message: Message) => Buffer;
};

/** Lists the methods that `routes` registers. Throws when a method is registered twice. */
export function collectRoutes(routes: Routes): Map<string, Route> {
  const collected = new Map<string, Route>();

  function add(spec: MethodImplSpec): void {
    const service = spec.method.parent.typeName;
    const name = `${service}/${spec.method.name}`;
    const path = `/${name}`;
    if (collected.has(path)) throw new Error(`${name} is registered twice`);
    collected.set(path, {
      path,
      name,
      spec,
      isOpen: service.startsWith("grpc."),
      decode: decoder(spec.method.input),
      encode: encoder(spec.method.output),
    });
  }

  const router: ConnectRouter = {
    handlers: [],
    service(service, implementation) {
      const { methods } = createServiceImplSpec(service, implementation);
      for (const spec of Object.values(methods)) add(spec);
      return router;
    },
    rpc(method, implementation) {
      add(createMethodImplSpec(method, implementation));
      return router;
    },
  };
  routes(router);
  return collected;
}

/** Decodes one message type. */
export function decoder(desc: DescMessage): (bytes: Uint8Array) => Message {
  return (bytes) => fromBinary(desc, bytes);
}

/** Encodes one message type, to a `Buffer` over the same memory. */
export function encoder(desc: DescMessage): (message: Message) => Buffer {
  return (message) => {
    const bytes = toBinary(desc, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}
