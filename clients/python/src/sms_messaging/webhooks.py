"""Verifies webhooks."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Any, Literal

TOLERANCE_S = 300

Code = Literal["malformed_signature", "outside_tolerance", "no_match", "malformed_body"]


class WebhookSignatureError(Exception):
    """The webhook is not genuine, or too old: answer 400."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code: Code = code


def verify_webhook(
    body: bytes,
    signature: str | None,
    secret: str,
    *,
    tolerance_s: float = TOLERANCE_S,
    now_s: float | None = None,
) -> dict[str, Any]:
    """Returns the event of a genuine webhook; raises WebhookSignatureError for any other.

    `body` is the raw body, before any parsing, and `signature` the header `X-Service-Signature`.
    The event's `type` says which member of `types` it is (`MessageStatusChangedEvent` and so on).
    Types may be added: ignore those that you do not know. Delivery is at least once: keep the `id`
    of each event for 72 hours.
    """
    if secret == "":
        raise ValueError("secret is empty")
    t, candidates = _parse(signature or "")
    if abs((time.time() if now_s is None else now_s) - int(t)) > tolerance_s:
        raise WebhookSignatureError("outside_tolerance", f"the signature's time is {t}")
    wanted = hmac.new(secret.encode(), t.encode() + b"." + body, hashlib.sha256).hexdigest()
    # Compares every candidate, each in constant time. "replace", because frameworks decode octets
    # that are not ASCII in different ways.
    matches = [
        hmac.compare_digest(candidate.encode("ascii", "replace"), wanted.encode())
        for candidate in candidates
    ]
    if not any(matches):
        raise WebhookSignatureError("no_match", "no signature of this secret signs this body")
    try:
        event = json.loads(body)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise WebhookSignatureError("malformed_body", "the signed body is not a JSON object")
    return event


def _parse(header: str) -> tuple[str, list[str]]:
    """`t=<unix seconds>,v1=<hex>`: after a rotation there are several v1."""
    pairs = [part.split("=", 1) for part in header.split(",") if "=" in part]
    t = next((value for name, value in pairs if name == "t"), "")
    candidates = [value for name, value in pairs if name == "v1"]
    if not (t.isascii() and t.isdigit() and len(t) <= 12) or not candidates:
        raise WebhookSignatureError("malformed_signature", "the signature has no t or no v1")
    return t, candidates
