/** Server reflection, v1 and v1alpha: grpcurl and similar tools use it to list a server's services. */
import {
  create,
  type DescFile,
  type DescMessage,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../../proto/gen/google/rpc/error_details_pb.js";
import {
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "../../../proto/gen/grpc/reflection/v1/reflection_pb.js";
import {
  ServerReflectionRequestSchema as AlphaRequestSchema,
  ServerReflectionResponseSchema as AlphaResponseSchema,
  ServerReflection as ServerReflectionAlpha,
} from "../../../proto/gen/grpc/reflection/v1alpha/reflection_pb.js";
import type { Routes } from "./routes.ts";

type Answer = NonNullable<
  MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]
>;

/** Serves the descriptors of the given services, of reflection itself, and of error details. */
export function createReflection(services: readonly DescService[]): Routes {
  const listed = [...services, ServerReflection, ServerReflectionAlpha];
  const files = new Map<string, DescFile>();
  for (const service of listed) addFile(files, service.file);
  addFile(files, file_google_rpc_error_details);
  const symbols = new Map<string, DescFile>();
  for (const file of files.values()) {
    for (const symbol of symbolsOf(file)) symbols.set(symbol, file);
  }

  function answer(asked: ServerReflectionRequest["messageRequest"]): Answer {
    switch (asked.case) {
      case "listServices": {
        const names = listed.map(({ typeName }) => typeName).sort();
        return {
          case: "listServicesResponse",
          value: { service: names.map((name) => ({ name })) },
        };
      }
      case "fileByFilename":
        return withImports(files.get(asked.value), asked.value);
      case "fileContainingSymbol":
        return withImports(symbols.get(asked.value), asked.value);
      case "fileContainingExtension":
        return notFound(asked.value.containingType);
      case "allExtensionNumbersOfType":
        if (!symbols.has(asked.value)) return notFound(asked.value);
        return {
          case: "allExtensionNumbersResponse",
          value: { baseTypeName: asked.value, extensionNumber: [] },
        };
      default:
        return failed(Code.InvalidArgument, "the question is empty");
    }
  }

  async function* serve(asked: AsyncIterable<ServerReflectionRequest>) {
    for await (const originalRequest of asked) {
      yield create(ServerReflectionResponseSchema, {
        validHost: originalRequest.host,
        originalRequest,
        messageResponse: answer(originalRequest.messageRequest),
      });
    }
  }

  return (router) => {
    router.service(ServerReflection, { serverReflectionInfo: serve });
    router.service(ServerReflectionAlpha, {
      // The two packages differ in name only, so messages convert by their bytes.
      async *serverReflectionInfo(asked) {
        const questions = recode(AlphaRequestSchema, ServerReflectionRequestSchema, asked);
        yield* recode(ServerReflectionResponseSchema, AlphaResponseSchema, serve(questions));
      },
    });
  };
}

async function* recode<I extends DescMessage, O extends DescMessage>(
  from: I,
  to: O,
  messages: AsyncIterable<MessageShape<I>>,
): AsyncGenerator<MessageShape<O>> {
  for await (const message of messages) yield fromBinary(to, toBinary(from, message));
}

function withImports(file: DescFile | undefined, asked: string): Answer {
  if (file === undefined) return notFound(asked);
  const needed = new Map<string, DescFile>();
  addFile(needed, file);
  const fileDescriptorProto = [...needed.values()].map(({ proto }) =>
    toBinary(FileDescriptorProtoSchema, proto),
  );
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

/** Adds a file and its imports, each once. */
function addFile(files: Map<string, DescFile>, file: DescFile): void {
  if (files.has(file.proto.name)) return;
  files.set(file.proto.name, file);
  for (const dependency of file.dependencies) addFile(files, dependency);
}

function* symbolsOf(file: DescFile): Generator<string> {
  for (const service of file.services) {
    yield service.typeName;
    for (const method of service.methods) yield `${service.typeName}.${method.name}`;
  }
  for (const { typeName } of file.enums) yield typeName;
  for (const { typeName } of file.extensions) yield typeName;
  const messages = [...file.messages];
  for (let message = messages.pop(); message !== undefined; message = messages.pop()) {
    yield message.typeName;
    for (const field of message.fields) yield `${message.typeName}.${field.name}`;
    for (const { typeName } of message.nestedEnums) yield typeName;
    messages.push(...message.nestedMessages);
  }
}

function notFound(asked: string): Answer {
  return failed(Code.NotFound, `not found: ${asked}`);
}

function failed(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
