"""The client."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Literal
from urllib.parse import urlsplit

import urllib3

from .campaigns import Campaigns
from .resources import (
    Account,
    ApiKeys,
    Balance,
    Events,
    InboundMessages,
    Messages,
    SenderIds,
    Suppressions,
    Usage,
    Wallet,
    WebhookEndpoints,
)
from .transport import SeenResponse, Transport


class SmsClient:
    """A client of the API. One client for your whole program: threads may share it.

    `api_key` is `sk_live_…`, or `sk_test_…` for test mode, in which messages reach no phone and cost
    nothing. `base_url` is the address of the API, for example `https://api.example.com`. An attempt
    may last `timeout_s`; a failed one is repeated `max_retries` times, at least 15 s in all.
    `on_response` sees every response, for logs. `pool` replaces urllib3's pool, for example for a
    proxy or an authority of your own.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        timeout_s: float = 30.0,
        max_retries: int = 4,
        on_response: Callable[[SeenResponse], None] | None = None,
        pool: urllib3.PoolManager | None = None,
    ) -> None:
        if api_key.startswith("sk_live_"):
            self.mode: Literal["live", "test"] = "live"
        elif api_key.startswith("sk_test_"):
            self.mode = "test"
        else:
            raise ValueError("api_key begins with sk_live_ or sk_test_")
        if urlsplit(base_url).scheme not in ("http", "https"):
            raise ValueError("base_url is not an address")
        self._transport = Transport(
            api_key=api_key,
            base_url=base_url,
            timeout_s=timeout_s,
            max_retries=max_retries,
            on_response=on_response,
            pool=pool,
        )
        self.messages = Messages(self._transport)
        self.balance = Balance(self._transport)
        self.sender_ids = SenderIds(self._transport)
        self.wallet = Wallet(self._transport)
        self.usage = Usage(self._transport)
        self.account = Account(self._transport)
        self.api_keys = ApiKeys(self._transport)
        self.webhook_endpoints = WebhookEndpoints(self._transport)
        self.events = Events(self._transport)
        self.campaigns = Campaigns(self._transport)
        self.inbound_messages = InboundMessages(self._transport)
        self.suppressions = Suppressions(self._transport)

    def close(self) -> None:
        """Closes the idle connections."""
        self._transport.close()

    def __enter__(self) -> SmsClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
