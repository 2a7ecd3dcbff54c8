"""One call of the API: attempts, retries, time limits."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import quote, urlencode

import urllib3

from .errors import ConnectionFailedError, NoResponseError, SmsError, TimedOutError, error_of
from .operations import OPERATIONS
from .retry import parse_retry_after, retry_wait_s

try:
    _VERSION = version("sms-messaging-client")
except PackageNotFoundError:
    _VERSION = "0"


@dataclass(frozen=True)
class Options:
    """Settings of one call; None is the client's setting."""

    #: 1 to 64 of A-Z, a-z, 0-9, _ and -. Without it each call has a random one, which covers the
    #: retries of the call but not those of your own program.
    idempotency_key: str | None = None
    timeout_s: float | None = None
    max_retries: int | None = None


@dataclass(frozen=True)
class SeenResponse:
    """One response, as the hook `on_response` sees it."""

    operation: str
    attempt: int
    status: int
    request_id: str | None
    #: The stored response of an idempotency key: nothing happened a second time.
    is_replayed: bool


@dataclass(frozen=True)
class Success:
    body: bytes
    headers: Mapping[str, str]


class Transport:
    """Executes operations. Threads may share it: urllib3's pool hands out a connection to each."""

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str,
        timeout_s: float,
        max_retries: int,
        on_response: Callable[[SeenResponse], None] | None,
        pool: urllib3.PoolManager | None,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._on_response = on_response
        self._owns_pool = pool is None
        self._pool = pool if pool is not None else urllib3.PoolManager(maxsize=16)
        self._headers = {
            "authorization": f"Bearer {api_key}",
            "user-agent": f"sms-messaging-python/{_VERSION}",
        }

    def close(self) -> None:
        if self._owns_pool:
            self._pool.clear()

    def call(
        self,
        operation: str,
        options: Options,
        *,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        file: str | bytes | None = None,
        accept: str = "application/json",
    ) -> Success:
        """Executes an operation until its response is final."""
        row = OPERATIONS[operation]
        url = self._base_url + _fill(row.path, path or {}) + _query_text(query or {})
        headers = {**self._headers, "accept": accept}
        content: bytes | None = None
        if file is not None:
            content = file.encode() if isinstance(file, str) else file
            headers["content-type"] = "text/csv"
        elif body is not None:
            # Half of a surrogate pair is no text; the API gets the escape and says so.
            content = json.dumps(body).encode()
            headers["content-type"] = "application/json"
        if row.takes_key:
            headers["idempotency-key"] = options.idempotency_key or secrets.token_hex(16)
        retries = self._max_retries if options.max_retries is None else options.max_retries
        timeout_s = self._timeout_s if options.timeout_s is None else options.timeout_s
        attempt = 0
        while True:
            attempt += 1
            answer = self._attempt(operation, row.method, url, headers, content, timeout_s, attempt)
            if isinstance(answer, Success):
                return answer
            wait_s = retry_wait_s(answer, attempt)
            if wait_s is None or attempt > retries:
                raise answer
            time.sleep(wait_s)

    def _attempt(
        self,
        operation: str,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | None,
        timeout_s: float,
        attempt: int,
    ) -> Success | SmsError:
        try:
            response = self._pool.request(
                method,
                url,
                body=content,
                headers=headers,
                timeout=urllib3.Timeout(total=timeout_s),
                # This module retries, since only it knows the rule and the codes.
                retries=False,
                redirect=False,
            )
        except urllib3.exceptions.NewConnectionError as cause:
            # A refused connection; urllib3 counts it among its timeouts.
            return _because(ConnectionFailedError(str(cause), attempts=attempt), cause)
        except urllib3.exceptions.TimeoutError as cause:
            return _because(TimedOutError("no response came in time", attempts=attempt), cause)
        except urllib3.exceptions.HTTPError as cause:
            return _because(ConnectionFailedError(str(cause), attempts=attempt), cause)
        seen = response.headers
        if self._on_response is not None:
            self._on_response(
                SeenResponse(
                    operation=operation,
                    attempt=attempt,
                    status=response.status,
                    request_id=seen.get("x-request-id"),
                    is_replayed=seen.get("idempotent-replayed") == "true",
                )
            )
        if 200 <= response.status < 300:
            return Success(response.data, seen)
        return error_of(
            response.status,
            response.data,
            attempts=attempt,
            retry_after_s=parse_retry_after(seen.get("retry-after")),
        )


def _because(error: NoResponseError, cause: Exception) -> NoResponseError:
    error.__cause__ = cause
    return error


def _fill(template: str, values: Mapping[str, str]) -> str:
    parts = []
    for part in template.split("/"):
        if part.startswith("{"):
            value = values[part[1:-1]]
            # An empty part would address the list instead of one of its entries.
            if value == "":
                raise ValueError(f"{part[1:-1]} is empty")
            part = quote(value, safe="")
        parts.append(part)
    return "/".join(parts)


def _query_text(query: Mapping[str, Any]) -> str:
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                pairs.append((name, str(one).lower() if isinstance(one, bool) else str(one)))
    return f"?{urlencode(pairs)}" if pairs else ""
