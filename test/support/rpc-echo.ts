/**
 * A service with all four kinds of method, for tests of the RPC layer only. Its descriptor is made
 * here by hand, so that no test service is part of the published protocol.
 */
import { create, createFileRegistry } from "@bufbuild/protobuf";
import type { GenService } from "@bufbuild/protobuf/codegenv2";
import {
  FileDescriptorProtoSchema,
  file_google_protobuf_wrappers,
  type Int64ValueSchema,
  type StringValueSchema,
} from "@bufbuild/protobuf/wkt";

type Text = typeof StringValueSchema;
type Number64 = typeof Int64ValueSchema;

const TEXT = ".google.protobuf.StringValue";
const NUMBER = ".google.protobuf.Int64Value";

const file = create(FileDescriptorProtoSchema, {
  name: "test/echo.proto",
  package: "test",
  syntax: "proto3",
  dependency: ["google/protobuf/wrappers.proto"],
  service: [
    {
      name: "EchoService",
      method: [
        { name: "Say", inputType: TEXT, outputType: TEXT },
        { name: "Count", inputType: NUMBER, outputType: NUMBER, serverStreaming: true },
        { name: "Sum", inputType: NUMBER, outputType: NUMBER, clientStreaming: true },
        {
          name: "Chat",
          inputType: TEXT,
          outputType: TEXT,
          clientStreaming: true,
          serverStreaming: true,
        },
      ],
    },
  ],
});

const service = createFileRegistry(file, (name) =>
  name === "google/protobuf/wrappers.proto" ? file_google_protobuf_wrappers : undefined,
).getService("test.EchoService");
if (service === undefined) throw new Error("the test service has no descriptor");

/** `test.EchoService`: Say, Count (server stream), Sum (client stream), Chat (both ways). */
export const EchoService = service as unknown as GenService<{
  say: { methodKind: "unary"; input: Text; output: Text };
  count: { methodKind: "server_streaming"; input: Number64; output: Number64 };
  sum: { methodKind: "client_streaming"; input: Number64; output: Number64 };
  chat: { methodKind: "bidi_streaming"; input: Text; output: Text };
}>;
