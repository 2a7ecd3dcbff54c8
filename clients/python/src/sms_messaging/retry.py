"""The documented retry rule.

A timeout, a lost connection, 408, 409 `conflict`, 429 and every 5xx are tried again with the same
idempotency key, after `Retry-After`, else after 1 s, 2 s, 4 s and so on up to one minute.
"""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime

from .errors import ApiError, ConflictError, NoResponseError, SmsError, UnexpectedResponseError

_FIRST_WAIT_S = 1.0
#: A longer wait, such as that of a daily quota, is the caller's decision.
_WAIT_S_MAX = 60.0


def retry_wait_s(error: SmsError, attempt: int) -> float | None:
    """The wait before the next attempt, or None when the error is final."""
    if not _is_retryable(error):
        return None
    asked = error.retry_after_s
    if asked is not None and asked > _WAIT_S_MAX:
        return None
    wait_s = asked if asked is not None else min(_WAIT_S_MAX, _FIRST_WAIT_S * 2 ** (attempt - 1))
    # Up to a quarter more, so that clients that failed together do not come back together.
    return wait_s * (1 + random.random() / 4)


def _is_retryable(error: SmsError) -> bool:
    if isinstance(error, (NoResponseError, ConflictError)):
        return True
    if isinstance(error, (ApiError, UnexpectedResponseError)):
        return error.status in (408, 429) or error.status >= 500
    return False


def parse_retry_after(header: str | None) -> float | None:
    """`Retry-After` in seconds: a number, or a date (RFC 9110 section 10.2.3)."""
    if header is None or header.strip() == "":
        return None
    if header.strip().isdigit():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None
