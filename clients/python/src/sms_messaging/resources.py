"""The methods of the client, one class per kind of resource.

Arguments of requests are keyword arguments, named as in the API; `from` is a word of Python, so it
is `from_` here. Every method takes `options`, the settings of one call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Unpack, cast

from . import types as t
from .lists import List
from .transport import Options, Transport

_DEFAULT = Options()


def _members(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """`from_` is `from` in the API."""
    return {name.removesuffix("_"): value for name, value in arguments.items()}


class _Resource:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _data(self, operation: str, options: Options, **parts: Any) -> Any:
        return json.loads(self._transport.call(operation, options, **parts).body)["data"]


class Messages(_Resource):
    """Sends, reads and cancels messages."""

    def send(
        self, *, options: Options = _DEFAULT, **body: Unpack[t.SendMessageBody]
    ) -> t.SendMessageData:
        """Sends one message."""
        answer = self._data("sendMessage", options, body=_members(body))
        return cast(t.SendMessageData, answer)

    def send_bulk(
        self, *, options: Options = _DEFAULT, **body: Unpack[t.SendBulkBody]
    ) -> t.SendBulkData:
        """Sends one text to many. Each recipient is accepted or rejected by itself: see `messages`."""
        return cast(t.SendBulkData, self._data("sendBulk", options, body=_members(body)))

    def send_batch(
        self, *, options: Options = _DEFAULT, **body: Unpack[t.SendBatchBody]
    ) -> t.SendBatchData:
        """Sends many texts. Each item is accepted or rejected by itself: see `messages`."""
        return cast(t.SendBatchData, self._data("sendBatch", options, body=_members(body)))

    def list(
        self, *, options: Options = _DEFAULT, **query: Unpack[t.ListMessagesQuery]
    ) -> List[t.ListMessagesEntry]:
        """Newest first. Give both `created_after` and `created_before` to read without gaps."""
        return List(self._transport, "listMessages", options, query=_members(query))

    def get(self, message_id: str, *, options: Options = _DEFAULT) -> t.GetMessageData:
        """One message with its history."""
        path = {"message_id": message_id}
        return cast(t.GetMessageData, self._data("getMessage", options, path=path))

    def timeline(
        self, message_id: str, *, options: Options = _DEFAULT
    ) -> t.GetMessageTimelineData:
        """What happened to a message: statuses, money, webhook attempts."""
        path = {"message_id": message_id}
        answer = self._data("getMessageTimeline", options, path=path)
        return cast(t.GetMessageTimelineData, answer)

    def preview(
        self, *, options: Options = _DEFAULT, **body: Unpack[t.PreviewMessageBody]
    ) -> t.PreviewMessageData:
        """What a text would be as a message, and cost; nothing is sent."""
        answer = self._data("previewMessage", options, body=_members(body))
        return cast(t.PreviewMessageData, answer)

    def cancel(self, message_id: str, *, options: Options = _DEFAULT) -> t.CancelMessageData:
        """Cancels a scheduled or waiting message."""
        path = {"message_id": message_id}
        return cast(t.CancelMessageData, self._data("cancelMessage", options, path=path))


class Balance(_Resource):
    """The wallet."""

    def get(self, *, options: Options = _DEFAULT) -> t.GetBalanceData:
        """The balance, the part that is held, and the part that new sends may use."""
        return cast(t.GetBalanceData, self._data("getBalance", options))


class SenderIds(_Resource):
    """The names that messages come from."""

    def list(
        self, *, options: Options = _DEFAULT, **query: Unpack[t.ListSenderIdsQuery]
    ) -> List[t.ListSenderIdsEntry]:
        """By name."""
        return List(self._transport, "listSenderIds", options, query=_members(query))

    def request(
        self, *, options: Options = _DEFAULT, **body: Unpack[t.RequestSenderIdBody]
    ) -> t.RequestSenderIdData:
        """Asks for one; operators review it."""
        answer = self._data("requestSenderId", options, body=_members(body))
        return cast(t.RequestSenderIdData, answer)


class Wallet(_Resource):
    """The statement."""

    def entries(
        self, *, options: Options = _DEFAULT, **query: Unpack[t.ListWalletEntriesQuery]
    ) -> List[t.ListWalletEntriesEntry]:
        """Newest first."""
        return List(self._transport, "listWalletEntries", options, query=_members(query))


class Usage(_Resource):
    """Counts of messages, segments and charges."""

    def get(
        self, *, options: Options = _DEFAULT, **query: Unpack[t.GetUsageQuery]
    ) -> t.GetUsageData:
        """By the groups of `group_by`."""
        answer = self._data("getUsage", options, query=_members(query))
        return cast(t.GetUsageData, answer)


class Account(_Resource):
    """The account and its audit trail."""

    def get(self, *, options: Options = _DEFAULT) -> t.GetAccountData:
        """Its state, limits and settings."""
        return cast(t.GetAccountData, self._data("getAccount", options))

    def update(
        self, *, options: Options = _DEFAULT, **body: Unpack[t.UpdateAccountBody]
    ) -> t.UpdateAccountData:
        """Absent members keep their value."""
        answer = self._data("updateAccount", options, body=_members(body))
        return cast(t.UpdateAccountData, answer)

    def audit_entries(
        self, *, options: Options = _DEFAULT, **query: Unpack[t.ListAuditEntriesQuery]
    ) -> List[t.ListAuditEntriesEntry]:
        """Who changed what, newest first."""
        return List(self._transport, "listAuditEntries", options, query=_members(query))


class ApiKeys(_Resource):
    """The keys of the account, of the key's own mode."""

    def list(
        self, *, options: Options = _DEFAULT, **query: Unpack[t.ListApiKeysQuery]
    ) -> List[t.ListApiKeysEntry]:
        """Newest first."""
        return List(self._transport, "listApiKeys", options, query=_members(query))

    def create(
        self, *, options: Options = _DEFAULT, **body: Unpack[t.CreateApiKeyBody]
    ) -> t.CreateApiKeyData:
        """Creates a key; the response shows its `secret` this once."""
        answer = self._data("createApiKey", options, body=_members(body))
        return cast(t.CreateApiKeyData, answer)

    def get(self, api_key_id: str, *, options: Options = _DEFAULT) -> t.GetApiKeyData:
        """One key."""
        path = {"api_key_id": api_key_id}
        return cast(t.GetApiKeyData, self._data("getApiKey", options, path=path))

    def revoke(self, api_key_id: str, *, options: Options = _DEFAULT) -> None:
        """Revokes a key for ever."""
        self._transport.call("revokeApiKey", options, path={"api_key_id": api_key_id})


class Events(_Resource):
    """The events of the key's mode, for programs that no webhook can reach."""

    def read(
        self, *, options: Options = _DEFAULT, **query: Unpack[t.ListEventsQuery]
    ) -> t.EventPage:
        """The events after `cursor`; without one none, and the cursor of the next event."""
        answer = self._transport.call("listEvents", options, query=_members(query))
        return cast(t.EventPage, json.loads(answer.body))

    def follow(
        self, *, options: Options = _DEFAULT, **query: Unpack[t.ListEventsQuery]
    ) -> List[t.ListEventsEntry]:
        """Every event from `cursor` on, or from the next one. It waits for more and never ends.

        To continue later, iterate over `pages()` and store each `next_cursor`.
        """
        return List(self._transport, "listEvents", options, query={"wait": 20, **_members(query)})


class WebhookEndpoints(_Resource):
    """Webhook endpoints and their deliveries."""

    def list(self, *, options: Options = _DEFAULT) -> List[t.ListWebhookEndpointsEntry]:
        """The endpoints of the key's mode."""
        return List(self._transport, "listWebhookEndpoints", options)

    def create(
        self, *, options: Options = _DEFAULT, **body: Unpack[t.CreateWebhookEndpointBody]
    ) -> t.CreateWebhookEndpointData:
        """Creates an endpoint; the response shows its `secret` this once."""
        answer = self._data("createWebhookEndpoint", options, body=_members(body))
        return cast(t.CreateWebhookEndpointData, answer)

    def get(self, endpoint_id: str, *, options: Options = _DEFAULT) -> t.GetWebhookEndpointData:
        """One endpoint."""
        path = {"endpoint_id": endpoint_id}
        answer = self._data("getWebhookEndpoint", options, path=path)
        return cast(t.GetWebhookEndpointData, answer)

    def update(
        self,
        endpoint_id: str,
        *,
        options: Options = _DEFAULT,
        **body: Unpack[t.UpdateWebhookEndpointBody],
    ) -> t.UpdateWebhookEndpointData:
        """Absent members keep their value."""
        path = {"endpoint_id": endpoint_id}
        answer = self._data("updateWebhookEndpoint", options, path=path, body=_members(body))
        return cast(t.UpdateWebhookEndpointData, answer)

    def delete(self, endpoint_id: str, *, options: Options = _DEFAULT) -> None:
        """Deletes an endpoint; nothing more is sent to it."""
        path = {"endpoint_id": endpoint_id}
        self._transport.call("deleteWebhookEndpoint", options, path=path)

    def rotate_secret(
        self, endpoint_id: str, *, options: Options = _DEFAULT
    ) -> t.RotateWebhookSecretData:
        """Makes a new secret; both sign for 24 hours."""
        path = {"endpoint_id": endpoint_id}
        answer = self._data("rotateWebhookSecret", options, path=path)
        return cast(t.RotateWebhookSecretData, answer)

    def send_test(self, endpoint_id: str, *, options: Options = _DEFAULT) -> t.SendWebhookTestData:
        """Sends a `webhook.test` event."""
        path = {"endpoint_id": endpoint_id}
        return cast(t.SendWebhookTestData, self._data("sendWebhookTest", options, path=path))

    def list_deliveries(
        self,
        endpoint_id: str,
        *,
        options: Options = _DEFAULT,
        **query: Unpack[t.ListWebhookDeliveriesQuery],
    ) -> List[t.ListWebhookDeliveriesEntry]:
        """Newest first, each with its attempts."""
        path = {"endpoint_id": endpoint_id}
        members = _members(query)
        return List(self._transport, "listWebhookDeliveries", options, path=path, query=members)

    def get_delivery(
        self, endpoint_id: str, delivery_id: str, *, options: Options = _DEFAULT
    ) -> t.GetWebhookDeliveryData:
        """One delivery with the body of its requests."""
        path = {"endpoint_id": endpoint_id, "delivery_id": delivery_id}
        answer = self._data("getWebhookDelivery", options, path=path)
        return cast(t.GetWebhookDeliveryData, answer)

    def resend_delivery(
        self, endpoint_id: str, delivery_id: str, *, options: Options = _DEFAULT
    ) -> t.ResendWebhookDeliveryData:
        """Sends one delivery again."""
        path = {"endpoint_id": endpoint_id, "delivery_id": delivery_id}
        answer = self._data("resendWebhookDelivery", options, path=path)
        return cast(t.ResendWebhookDeliveryData, answer)

    def recover(
        self,
        endpoint_id: str,
        *,
        options: Options = _DEFAULT,
        **body: Unpack[t.RecoverWebhookDeliveriesBody],
    ) -> t.RecoverWebhookDeliveriesData:
        """Sends all deliveries that failed since an instant again."""
        path = {"endpoint_id": endpoint_id}
        answer = self._data("recoverWebhookDeliveries", options, path=path, body=_members(body))
        return cast(t.RecoverWebhookDeliveriesData, answer)


class InboundMessages(_Resource):
    """Messages that handsets sent to your numbers."""

    def list(
        self, *, options: Options = _DEFAULT, **query: Unpack[t.ListInboundMessagesQuery]
    ) -> List[t.ListInboundMessagesEntry]:
        """Newest first."""
        return List(self._transport, "listInboundMessages", options, query=_members(query))

    def get(
        self, inbound_message_id: str, *, options: Options = _DEFAULT
    ) -> t.GetInboundMessageData:
        """One inbound message."""
        path = {"inbound_message_id": inbound_message_id}
        answer = self._data("getInboundMessage", options, path=path)
        return cast(t.GetInboundMessageData, answer)


class Suppressions(_Resource):
    """The numbers that you must not send to. `csv_pages()` of the list gives CSV files."""

    def list(
        self, *, options: Options = _DEFAULT, **query: Unpack[t.ListSuppressionsQuery]
    ) -> List[t.ListSuppressionsEntry]:
        """By number."""
        return List(self._transport, "listSuppressions", options, query=_members(query))

    def add(
        self, *, options: Options = _DEFAULT, **body: Unpack[t.AddSuppressionsBody]
    ) -> t.AddSuppressionsData:
        """Adds up to 1,000; a repeat changes nothing."""
        answer = self._data("addSuppressions", options, body=_members(body))
        return cast(t.AddSuppressionsData, answer)

    def add_csv(
        self, file: str | bytes, *, options: Options = _DEFAULT
    ) -> t.AddSuppressionsData:
        """Adds the rows of a CSV file with the columns `number`, `sender` and `reason`."""
        return cast(t.AddSuppressionsData, self._data("addSuppressions", options, file=file))

    def remove(
        self, number: str, *, options: Options = _DEFAULT, **query: Unpack[t.RemoveSuppressionQuery]
    ) -> None:
        """Removes that of one sender ID, or without it that of the whole account."""
        path = {"number": number}
        self._transport.call("removeSuppression", options, path=path, query=_members(query))
