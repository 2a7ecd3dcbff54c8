"""What a call raises. Catch one class, or `SmsError` for all of them."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from .operations import ERROR_CODES
from .types import Problem


class SmsError(Exception):
    """Every failure of a call."""

    def __init__(self, message: str, *, attempts: int, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.attempts = attempts
        #: The wait that the API asked for.
        self.retry_after_s = retry_after_s


class NoResponseError(SmsError):
    """No response came. The request may have had its effect.

    A retry with the same idempotency key is safe, another key is not.
    """


class ConnectionFailedError(NoResponseError):
    """The connection could not be made, or broke before the response."""


class TimedOutError(NoResponseError):
    """No response came in time."""


class UnexpectedResponseError(SmsError):
    """A response that is not the API's, such as a page of a proxy."""

    def __init__(self, status: int, text: str, **more: Any) -> None:
        super().__init__(f"a response with the status {status} is not the API's", **more)
        self.status = status
        #: The first 1,000 characters.
        self.text = text[:1000]


class ApiError(SmsError):
    """The API answered with a problem (RFC 9457). `code` is stable; the texts are for people."""

    def __init__(self, status: int, problem: Problem, **more: Any) -> None:
        super().__init__(f"{problem['title']}: {problem['detail']} ({problem['code']})", **more)
        self.status = status
        self.problem = problem
        self.code: str = problem["code"]
        #: Quote it when you ask for support.
        self.request_id: str = problem.get("request_id", "")
        #: The wrong fields; empty when the problem is not about fields.
        self.fields = problem.get("errors", [])

    #: The codes of a class, for `except` and for tests.
    codes: ClassVar[tuple[str, ...]] = ()


class AuthenticationError(ApiError):
    """401: the key is missing, malformed, unknown or revoked."""

    codes = ("unauthenticated",)


class InsufficientBalanceError(ApiError):
    """402: nothing was accepted. The amounts are decimal strings with four fraction digits."""

    codes = ("insufficient_balance",)

    def __init__(self, status: int, problem: Problem, **more: Any) -> None:
        super().__init__(status, problem, **more)
        members: dict[str, Any] = dict(problem)
        self.required_amount: str = members["required_amount"]
        self.available_amount: str = members["available_amount"]
        self.currency: str = members["currency"]


class PermissionDeniedError(ApiError):
    """403: the key, its scopes, its address or the account does not allow it."""

    codes = (
        "ip_not_allowed",
        "insufficient_scope",
        "email_not_verified",
        "tenant_suspended",
        "origin_not_allowed",
    )


class NotFoundError(ApiError):
    """404: unknown, or not yours."""

    codes = ("not_found",)


class ConflictError(ApiError):
    """409: a request with the same idempotency key is running; it has been retried."""

    codes = ("conflict",)


class IdempotencyKeyReusedError(ApiError):
    """409: the key was used with another body."""

    codes = ("idempotency_key_reused",)


class InvalidStateError(ApiError):
    """409: the message or the campaign is in a state that does not allow it."""

    codes = ("invalid_state_transition", "already_exists")


class ValidationError(ApiError):
    """422, 400, 413 or 415: the request is wrong; `fields` says where."""

    codes = (
        "validation_error",
        "sender_id_not_approved",
        "bad_request",
        "payload_too_large",
        "unsupported_media_type",
        "headers_too_large",
        "method_not_allowed",
    )


class RateLimitedError(ApiError):
    """429: `retry_after_s` is the wait; a longer one than a minute is left to you."""

    codes = ("rate_limited",)


class ServiceError(ApiError):
    """408, 500 or 503: a fault or an overload of the service; it has been retried."""

    codes = ("internal_error", "service_unavailable", "request_timeout")


class UnknownError(ApiError):
    """A code that the API has gained after this version of the package."""


_CLASSES: tuple[type[ApiError], ...] = (
    AuthenticationError,
    InsufficientBalanceError,
    PermissionDeniedError,
    NotFoundError,
    ConflictError,
    IdempotencyKeyReusedError,
    InvalidStateError,
    ValidationError,
    RateLimitedError,
    ServiceError,
)

#: The class of each code.
CLASS_OF_CODE: dict[str, type[ApiError]] = {
    code: one for one in _CLASSES for code in one.codes
}

# A code that the API has and no class names would reach callers as UnknownError.
if missing := ERROR_CODES - CLASS_OF_CODE.keys():
    raise ImportError(f"no error class has the codes {sorted(missing)}")


def error_of(status: int, body: bytes, *, attempts: int, retry_after_s: float | None) -> SmsError:
    """The error of a response that is no success."""
    text = body.decode("utf-8", "replace")
    try:
        problem = json.loads(text)
    except ValueError:
        problem = None
    if not isinstance(problem, dict) or not isinstance(problem.get("code"), str):
        return UnexpectedResponseError(
            status, text, attempts=attempts, retry_after_s=retry_after_s
        )
    one = CLASS_OF_CODE.get(problem["code"], UnknownError)
    whole: Any = {"title": "Error", "detail": "", **problem}
    return one(status, whole, attempts=attempts, retry_after_s=retry_after_s)
