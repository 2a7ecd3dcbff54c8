"""Sends one message over gRPC: with an idempotency key, a second time under the same key, and then
the refusals that a caller must know. clients/grpc/README.md says what it prints."""

import hashlib
import json
import os
import time
from dataclasses import asdict, dataclass, replace

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from sms.v1 import common_pb2, messaging_pb2, messaging_pb2_grpc

# Bounds one attempt. Set a deadline on every call: grpcio sets none, and a lost server would keep a
# call without one open.
ATTEMPT_TIMEOUT_S = 5.0
# The whole work, retries included.
WORK_TIMEOUT_S = 60.0

RETRYABLE = {
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}


def connect() -> grpc.Channel:
    """One channel for the whole program; dns:/// with round_robin calls every replica.

    SMS_GRPC_CA, SMS_GRPC_CERT and SMS_GRPC_KEY name PEM files for mutual TLS.
    """
    target = f"dns:///{os.environ['SMS_GRPC_ADDRESS']}"
    options = [("grpc.lb_policy_name", "round_robin"), ("grpc.keepalive_time_ms", 60_000)]
    if "SMS_GRPC_CA" not in os.environ:
        return grpc.insecure_channel(target, options)
    if name := os.environ.get("SMS_GRPC_SERVER_NAME"):
        options.append(("grpc.ssl_target_name_override", name))
    credentials = grpc.ssl_channel_credentials(
        root_certificates=_read("SMS_GRPC_CA"),
        private_key=_read("SMS_GRPC_KEY"),
        certificate_chain=_read("SMS_GRPC_CERT"),
    )
    return grpc.secure_channel(target, credentials, options)


def _read(variable: str) -> bytes:
    with open(os.environ[variable], "rb") as file:
        return file.read()


def call_metadata(request_id: str) -> list[tuple[str, str]]:
    """The token of this system, which is no API key; the request id is in the logs of every service."""
    pairs = [("x-request-id", request_id)]
    if token := os.environ.get("SMS_GRPC_TOKEN"):
        pairs.append(("authorization", f"Bearer {token}"))
    return pairs


@dataclass(frozen=True)
class Text:
    """One message that this system wants to send."""

    tenant_id: str
    sender: str
    to: str
    body: str
    mode: str


def fingerprint(text: Text) -> bytes:
    """SHA-256 over everything that makes the request.

    The same key with another fingerprint is refused. Messaging compares it and does not compute it,
    so any stable encoding does.
    """
    canonical = json.dumps(asdict(text), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).digest()


def send_once(
    messaging: messaging_pb2_grpc.MessagingServiceStub, key: str, text: Text
) -> messaging_pb2.SendMessagesResponse:
    """Sends one message. However often it is called with this key, the message is sent once."""
    request = messaging_pb2.SendMessagesRequest(
        tenant_id=text.tenant_id,
        mode=common_pb2.MODE_TEST if text.mode == "test" else common_pb2.MODE_LIVE,
        source=messaging_pb2.MESSAGE_SOURCE_API,
        endpoint=messaging_pb2.SEND_ENDPOINT_SINGLE,
        idempotency_key=key,
        fingerprint=fingerprint(text),
        body=text.body,
        recipients=[messaging_pb2.Recipient(to=text.to)],
        # `from` is a word of Python.
        **{"from": text.sender},
    )
    end = time.monotonic() + WORK_TIMEOUT_S
    wait_s = 1.0
    while True:
        try:
            return messaging.SendMessages(
                request,
                timeout=ATTEMPT_TIMEOUT_S,
                metadata=call_metadata(f"example-{key}"),
            )
        except grpc.RpcError as error:
            asked = retry_delay_s(error)
            pause_s = wait_s if asked is None else asked
            if error.code() not in RETRYABLE or time.monotonic() + pause_s > end:
                raise
        time.sleep(pause_s)
        wait_s = min(2 * wait_s, 60.0)


def details_of(error: grpc.RpcError, kind: type) -> list:
    """The details of one kind; none when the status was made by a client or a proxy."""
    status = rpc_status.from_call(error)
    found = []
    for detail in status.details if status is not None else []:
        message = kind()
        if detail.Unpack(message):
            found.append(message)
    return found


def retry_delay_s(error: grpc.RpcError) -> float | None:
    """The wait that the service asks for."""
    for info in details_of(error, error_details_pb2.RetryInfo):
        return info.retry_delay.ToTimedelta().total_seconds()
    return None


def print_refusal(error: grpc.RpcError) -> None:
    """The status, our error code, and the wrong fields."""
    reasons = [
        info.reason
        for info in details_of(error, error_details_pb2.ErrorInfo)
        if info.domain == "sms"
    ]
    fields = [
        f"{violation.field}={violation.reason}"
        for request in details_of(error, error_details_pb2.BadRequest)
        for violation in request.field_violations
    ]
    print(" ".join(["refused", error.code().name, *reasons, ",".join(fields)]).strip())


def main() -> None:
    key = os.environ["SMS_KEY"]
    text = Text(
        tenant_id=os.environ["SMS_TENANT"],
        sender=os.environ["SMS_FROM"],
        to=os.environ["SMS_TO"],
        body="Your parcel is on its way.",
        mode=os.environ.get("SMS_MODE", "live"),
    )
    with connect() as channel:
        messaging = messaging_pb2_grpc.MessagingServiceStub(channel)
        first = send_once(messaging, key, text)
        print("sent", first.message.id, str(first.replayed).lower())
        second = send_once(messaging, key, text)
        print("sent", second.message.id, str(second.replayed).lower())
        try:
            send_once(messaging, key, replace(text, body="Another text."))
        except grpc.RpcError as error:
            print_refusal(error)
        try:
            send_once(messaging, f"{key}-wrong", replace(text, to="nobody"))
        except grpc.RpcError as error:
            print_refusal(error)
        # A deadline that is too short: the call may or may not have been made, so only the same key
        # is safe.
        request = messaging_pb2.GetMessageRequest(
            tenant_id=text.tenant_id, message_id=first.message.id
        )
        try:
            messaging.GetMessage(request, timeout=0.000001, metadata=call_metadata("example"))
        except grpc.RpcError as error:
            print_refusal(error)


if __name__ == "__main__":
    main()
