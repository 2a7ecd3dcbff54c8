import hashlib
import hmac
import time

TOLERANCE_S = 300


def is_genuine(
    header: str | None, raw_body: bytes, secret: str, now_s: float | None = None
) -> bool:
    """True when the header signs these raw bytes with the secret, now. Read the body before parsing it."""
    parts = [part.split("=", 1) for part in (header or "").split(",") if "=" in part]
    t = next((value for key, value in parts if key == "t"), "")
    if not (t.isascii() and t.isdigit() and len(t) <= 12):
        return False
    if abs((time.time() if now_s is None else now_s) - int(t)) > TOLERANCE_S:
        return False
    wanted = hmac.new(secret.encode(), t.encode() + b"." + raw_body, hashlib.sha256).hexdigest()
    # "replace", because frameworks decode octets that are not ASCII in different ways.
    return any(
        hmac.compare_digest(value.encode("ascii", "replace"), wanted.encode())
        for key, value in parts
        if key == "v1"
    )
