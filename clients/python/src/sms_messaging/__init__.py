"""A typed client of the SMS messaging API."""

from .client import SmsClient
from .errors import (
    ApiError,
    AuthenticationError,
    ConflictError,
    ConnectionFailedError,
    IdempotencyKeyReusedError,
    InsufficientBalanceError,
    InvalidStateError,
    NoResponseError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitedError,
    ServiceError,
    SmsError,
    TimedOutError,
    UnexpectedResponseError,
    UnknownError,
    ValidationError,
)
from .lists import List, Page
from .transport import Options, SeenResponse
from .webhooks import WebhookSignatureError, verify_webhook

__all__ = [
    "ApiError",
    "AuthenticationError",
    "ConflictError",
    "ConnectionFailedError",
    "IdempotencyKeyReusedError",
    "InsufficientBalanceError",
    "InvalidStateError",
    "List",
    "NoResponseError",
    "NotFoundError",
    "Options",
    "Page",
    "PermissionDeniedError",
    "RateLimitedError",
    "SeenResponse",
    "ServiceError",
    "SmsClient",
    "SmsError",
    "TimedOutError",
    "UnexpectedResponseError",
    "UnknownError",
    "ValidationError",
    "WebhookSignatureError",
    "verify_webhook",
]
