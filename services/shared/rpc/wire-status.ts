/** Converts between `ConnectError` and gRPC trailers, including `grpc-status-details-bin`. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { Metadata, type StatusObject } from "@grpc/grpc-js";
import { StatusSchema } from "../../../proto/gen/google/rpc/status_pb.js";
import { markReceived } from "./error-status.ts";
import { addHeaders, toHeaders } from "./headers.ts";

const DETAILS_HEADER = "grpc-status-details-bin";

/**
 * The limit for the details of one status. Common gRPC stacks refuse metadata above 8 KiB by default, and
 * base64 adds a third; details that do not fit are left out, the first ones stay.
 */
const DETAILS_BYTES_MAX = 5 * 1024;
const TEXT_LENGTH_MAX = 1024;
/** Longer texts are cut. Percent-encoding turns one character into up to nine bytes. */
const TEXT_BYTES_MAX = 2304;

/** Encodes an error as trailers; keeps trailers that the handler set. */
export function encodeStatus(error: ConnectError, trailer?: Headers): StatusObject {
  const metadata = new Metadata();
  if (trailer !== undefined) addHeaders(metadata, trailer);
  addHeaders(metadata, error.metadata);
  const message = shortened(error.rawMessage);
  if (error.details.length > 0) {
    const status = create(StatusSchema, { code: error.code, message, details: packed(error) });
    metadata.set(DETAILS_HEADER, Buffer.from(toBinary(StatusSchema, status)));
  }
  return { code: error.code as number, details: message, metadata };
}

/** Decodes the status of a failed call, including details. */
export function decodeStatus(status: StatusObject): ConnectError {
  const error = new ConnectError(status.details, toCode(status.code), toHeaders(status.metadata));
  const bytes = status.metadata.get(DETAILS_HEADER)[0];
  if (Buffer.isBuffer(bytes)) error.details = unpacked(bytes);
  return markReceived(error);
}

function shortened(text: string): string {
  const cut = text.slice(0, TEXT_LENGTH_MAX).toWellFormed();
  if (encodeURI(cut).length <= TEXT_BYTES_MAX) return cut;
  return cut.slice(0, TEXT_BYTES_MAX / 9).toWellFormed();
}

function packed(error: ConnectError) {
  const details = [];
  let room = DETAILS_BYTES_MAX;
  for (const detail of error.details) {
    const any =
      "desc" in detail
        ? anyPack(detail.desc, create(detail.desc, detail.value))
        : { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value };
    room -= any.typeUrl.length + any.value.length;
    if (room < 0) break;
    details.push(any);
  }
  return details;
}

function unpacked(bytes: Uint8Array): ConnectError["details"] {
  try {
    return fromBinary(StatusSchema, bytes).details.map(({ typeUrl, value }) => ({
      type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1),
      value: value as Uint8Array<ArrayBuffer>,
    }));
  } catch {
    // Details are optional: a status with unreadable details is still valid.
    return [];
  }
}

function toCode(code: number): Code {
  return code >= Code.Canceled && code <= Code.Unauthenticated ? code : Code.Unknown;
}
