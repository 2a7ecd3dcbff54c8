"""Uses a client that openapi-python-client has generated, and prints what it saw as one JSON object."""

import json
import os
from datetime import UTC, datetime, timedelta

from sms_client import AuthenticatedClient
from sms_client.api.balance import get_balance
from sms_client.api.messages import cancel_message, get_message, list_messages
from sms_client.api.sending import send_bulk, send_message
from sms_client.models import BulkSend, InsufficientBalanceProblem, MessageStatus, Problem, SingleSend


def connect(url: str, key: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=os.environ[url], token=os.environ[key])


def describe(problem: object) -> str:
    assert isinstance(problem, Problem), problem
    return f"{problem.status} {problem.code}"


seen: dict[str, object] = {}
client = connect("BASE_URL", "API_KEY")
single = SingleSend(to="+2348031234567", from_="Acme", body="Hello", send_at=datetime.now(UTC) + timedelta(hours=1))

message = send_message.sync(client=client, body=single, idempotency_key="python-one").data
seen["single"] = message.status

bulk = BulkSend(to=["+2348031234567", "not a number"], from_="Acme", body="Hello")
seen["bulk"] = [
    entry.status if entry.error is None else f"{entry.status} {entry.error.code}"
    for entry in send_bulk.sync(client=client, body=bulk).data.messages
]

page = list_messages.sync(client=client, status=[MessageStatus.SCHEDULED])
seen["list"] = page.data[0].id == message.id
seen["history"] = get_message.sync(message.id, client=client).data.status_history[0].status
seen["cancelled"] = cancel_message.sync(message.id, client=client, body=None).data.error.code

seen["unauthenticated"] = describe(get_balance.sync(client=connect("BASE_URL", "WRONG_KEY")))

money = send_message.sync(client=connect("BASE_URL", "POOR_KEY"), body=single)
assert isinstance(money, InsufficientBalanceProblem)
seen["insufficientBalance"] = (
    f"{money.status} {money.code} {money.available_amount} of {money.required_amount} {money.currency}"
)

other = SingleSend(to=single.to, from_="Acme", body="Another text")
seen["conflict"] = describe(send_message.sync(client=client, body=other, idempotency_key="python-one"))

wrong = SingleSend(to="not a number", from_="Acme", body="Hello")
invalid = send_message.sync(client=client, body=wrong)
seen["invalid"] = f"{describe(invalid)} {invalid.errors[0].field} {invalid.errors[0].code}"

for _ in range(5):
    answer = get_balance.sync_detailed(client=connect("BASE_URL", "LIMITED_KEY"))
    if answer.status_code == 429:
        seen["rateLimited"] = f"{describe(answer.parsed)} {answer.headers['retry-after']}"
        break

future = connect("FUTURE_URL", "API_KEY")
later = get_message.sync(message.id, client=future).data
seen["future"] = f"{later.source} {later.channel} {later.encoding}"
seen["futureList"] = list_messages.sync(client=future).data[0].source
seen["futureCode"] = describe(get_balance.sync(client=connect("FUTURE_URL", "WRONG_KEY")))

print(json.dumps(seen))
