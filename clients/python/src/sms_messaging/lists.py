"""Lists, read page by page while you iterate."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qs, urlsplit

from .transport import Options, Transport

Entry = TypeVar("Entry")


class Page(Generic[Entry]):
    """One page. It may have fewer entries than `limit`, or none, although more follow."""

    def __init__(self, data: list[Entry], next_cursor: str | None) -> None:
        self.data = data
        #: None on the last page; else the `cursor` of a later call that continues there.
        self.next_cursor = next_cursor


class List(Generic[Entry]):
    """All entries of a list. Each iteration begins at the first page."""

    def __init__(
        self,
        transport: Transport,
        operation: str,
        options: Options,
        *,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> None:
        self._transport = transport
        self._operation = operation
        self._options = options
        self._path = path
        self._query = dict(query or {})

    def pages(self) -> Iterator[Page[Entry]]:
        """The pages."""
        query = self._query
        while True:
            answer = self._transport.call(
                self._operation, self._options, path=self._path, query=query
            )
            content = json.loads(answer.body)
            page: Page[Entry] = Page(content["data"], content["next_cursor"])
            yield page
            if page.next_cursor is None:
                return
            query = {**self._query, "cursor": page.next_cursor}

    def csv_pages(self) -> Iterator[str]:
        """The pages as CSV files, each with a header row, where the operation has them."""
        query = self._query
        while True:
            answer = self._transport.call(
                self._operation, self._options, path=self._path, query=query, accept="text/csv"
            )
            yield answer.body.decode()
            # RFC 8288: `</v1/…?cursor=…>; rel="next"`.
            following = re.search(r'<([^>]*)>;\s*rel="next"', answer.headers.get("link", ""))
            if following is None:
                return
            cursor = parse_qs(urlsplit(following[1]).query)["cursor"][0]
            query = {**self._query, "cursor": cursor}

    def __iter__(self) -> Iterator[Entry]:
        for page in self.pages():
            yield from page.data
