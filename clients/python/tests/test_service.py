"""The client against a real service. `test/e2e/clients/python.slow.test.ts` starts one, and names it
in SMS_TEST, a JSON object. Each test has money, keys and a sender ID of its own."""

import json
import os
import time
import unittest
import urllib.request
from datetime import UTC, datetime, timedelta

import sms_messaging as sms

SETUP = json.loads(os.environ["SMS_TEST"])
GOOD = {"to": "08031234567", "from_": "Acme", "body": "Hello"}


def client(key: str = "api_key", **more) -> sms.SmsClient:
    options = {"base_url": SETUP["gateway"], "max_retries": 0, **more}
    return sms.SmsClient(SETUP[key], **options)


def eventually(probe, what: str, timeout_s: float = 20.0):
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if found := probe():
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen within {timeout_s} s")


def status_of(api: sms.SmsClient, message_id: str, status: str):
    message = api.messages.get(message_id)
    return message if message["status"] == status else None


class Sending(unittest.TestCase):
    def test_sends_a_message_and_reads_it_until_it_is_delivered(self):
        with client() as api:
            sent = api.messages.send(**GOOD, client_reference="order-1")
            self.assertEqual((sent["status"], sent["from"]), ("queued", "Acme"))
            done = eventually(lambda: status_of(api, sent["id"], "delivered"), "delivery")
            self.assertIn("delivered", [entry["status"] for entry in done["status_history"]])
            self.assertEqual(api.balance.get()["currency"], "NGN")

    def test_a_bulk_send_with_one_bad_recipient_accepts_the_others(self):
        result = client().messages.send_bulk(
            to=["08031111111", "nobody", "08031111112"], from_="Acme", body="Hi"
        )
        self.assertEqual((result["accepted"], result["rejected"]), (2, 1))
        codes = [entry["error"] and entry["error"]["code"] for entry in result["messages"]]
        self.assertEqual(codes, [None, "invalid_recipient", None])

    def test_iterates_a_list_over_several_pages_each_entry_once(self):
        api = client("list_key")
        sent = [api.messages.send(**{**GOOD, "body": f"Message {at}"})["id"] for at in range(5)]
        listed = [message["id"] for message in api.messages.list(limit=2)]
        self.assertEqual(listed, sent[::-1])
        pages = list(api.messages.list(limit=2).pages())
        self.assertEqual(sum(len(page.data) for page in pages), 5)
        self.assertIsNone(pages[-1].next_cursor)
        self.assertEqual(list(api.messages.list(status=["scheduled", "failed"])), [])
        names = [entry["name"] for entry in api.sender_ids.list(usable=True)]
        self.assertEqual(names, ["Acme"])

    def test_cancels_a_scheduled_message(self):
        api = client()
        later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        sent = api.messages.send(**GOOD, send_at=later)
        self.assertEqual(api.messages.cancel(sent["id"])["status"], "cancelled")

    def test_after_a_503_and_a_lost_response_a_send_is_one_message(self):
        seen = []
        api = client(base_url=SETUP["proxy"], max_retries=4, on_response=seen.append)
        sent = api.messages.send(**{**GOOD, "to": "+2348037000001"})
        listed = [message["id"] for message in client().messages.list(to="+2348037000001")]
        self.assertEqual(listed, [sent["id"]])
        self.assertEqual([one.status for one in seen], [503, 202])

    def test_a_repeat_under_a_key_of_ones_own_gets_the_stored_response(self):
        seen = []
        api = client(on_response=seen.append)
        options = sms.Options(idempotency_key="python-stored-1")
        first = api.messages.send(**GOOD, options=options)
        self.assertEqual(api.messages.send(**GOOD, options=options), first)
        self.assertEqual([one.is_replayed for one in seen], [False, True])

    def test_a_test_key_has_test_messages_of_its_own(self):
        api = client("test_key")
        self.assertEqual(api.mode, "test")
        sent = api.messages.send(**GOOD)
        self.assertEqual((sent["mode"], sent["held_amount"]), ("test", "0.0000"))
        with self.assertRaises(sms.NotFoundError):
            client().messages.get(sent["id"])


class Errors(unittest.TestCase):
    def test_401_402_403_404_409_422_and_429_have_classes(self):
        with self.assertRaises(sms.AuthenticationError):
            sms.SmsClient("sk_live_" + "x" * 43, SETUP["gateway"]).balance.get()
        with self.assertRaises(sms.InsufficientBalanceError) as unpaid:
            client("poor_key").messages.send(**GOOD)
        error = unpaid.exception
        self.assertEqual(
            (error.required_amount, error.available_amount, error.currency),
            ("4.0000", "1.0000", "NGN"),
        )
        with self.assertRaises(sms.PermissionDeniedError) as denied:
            client("reader_key").messages.send(**GOOD)
        self.assertEqual(denied.exception.code, "insufficient_scope")
        with self.assertRaises(sms.NotFoundError):
            client().messages.get("msg_1")
        options = sms.Options(idempotency_key="python-reused-1")
        client().messages.send(**GOOD, options=options)
        with self.assertRaises(sms.IdempotencyKeyReusedError):
            client().messages.send(**{**GOOD, "body": "Other"}, options=options)
        with self.assertRaises(sms.ValidationError) as wrong:
            client().messages.send(**{**GOOD, "body": ""})
        self.assertIn(("body", "too_short"), [(f["field"], f["code"]) for f in wrong.exception.fields])
        self.assertRegex(wrong.exception.request_id, "^req_")
        hasty = client("hasty_key")
        hasty.balance.get()
        with self.assertRaises(sms.RateLimitedError) as limited:
            hasty.balance.get()
        self.assertGreater(limited.exception.retry_after_s, 0)

    def test_no_response_is_a_timeout_or_a_failed_connection(self):
        with self.assertRaises(sms.TimedOutError):
            client(base_url=SETUP["silent"], timeout_s=0.2).balance.get()
        with self.assertRaises(sms.ConnectionFailedError) as lost:
            client(base_url="http://127.0.0.1:9").balance.get()
        self.assertEqual(lost.exception.attempts, 1)

    def test_wrong_settings_are_refused(self):
        for key, address in [("secret", SETUP["gateway"]), (SETUP["api_key"], "api.example.com")]:
            with self.assertRaises(ValueError):
                sms.SmsClient(key, address)
        with self.assertRaises(ValueError):
            client().messages.get("")


class Resources(unittest.TestCase):
    def test_verifies_a_real_delivery_and_refuses_a_changed_one(self):
        api = client("hook_key")
        endpoint = api.webhook_endpoints.create(url=SETUP["receiver"])
        self.assertIn(endpoint["id"], [one["id"] for one in api.webhook_endpoints.list()])
        sent = api.messages.send(**GOOD)

        def received():
            address = f"{SETUP['events']}?contains={sent['id']}"
            with urllib.request.urlopen(address, timeout=5) as answer:
                return json.load(answer)

        first = eventually(received, "a webhook")[0]
        body, signature = first["body"].encode(), first["headers"]["x-service-signature"]
        event = sms.verify_webhook(body, signature, endpoint["secret"])
        self.assertEqual(event["data"]["object"]["id"], sent["id"])
        with self.assertRaises(sms.WebhookSignatureError) as forged:
            sms.verify_webhook(body + b" ", signature, endpoint["secret"])
        self.assertEqual(forged.exception.code, "no_match")
        rotated = api.webhook_endpoints.rotate_secret(endpoint["id"])
        self.assertNotEqual(rotated["secret"], endpoint["secret"])
        api.webhook_endpoints.update(endpoint["id"], description="mine")
        self.assertEqual(api.webhook_endpoints.get(endpoint["id"])["description"], "mine")
        deliveries = list(api.webhook_endpoints.list_deliveries(endpoint["id"], limit=1))
        self.assertGreater(len(deliveries), 0)
        api.webhook_endpoints.delete(endpoint["id"])

    def test_runs_a_campaign_from_a_csv_file_to_its_end(self):
        api = client()
        made = api.campaigns.create(name="Spring", from_="Acme", body="Hi {{name}}")
        rows = "to,name\n08034000001,Ada\n08034000002,Obi\nnobody,X\n"
        added = api.campaigns.add_recipients_csv(made["id"], rows)
        self.assertEqual((added["taken"], added["rejected"]), (2, 1))
        api.campaigns.add_recipients(made["id"], recipients=[
            {"to": "08034000003", "variables": {"name": "Eze"}}
        ])
        listed = list(api.campaigns.list_recipients(made["id"], limit=2))
        self.assertEqual([row["variables"]["name"] for row in listed], ["Ada", "Obi", "Eze"])
        files = list(api.campaigns.list_recipients(made["id"], limit=2).csv_pages())
        self.assertEqual(len(files), 2)
        self.assertIn("+2348034000003", files[1])
        self.assertEqual(api.campaigns.estimate(made["id"])["amount"], "12.0000")
        self.assertEqual(api.campaigns.preview(made["id"], limit=1)[0]["body"], "Hi Ada")
        api.campaigns.start(made["id"])
        done = eventually(
            lambda: (found := api.campaigns.get(made["id"]))["status"] == "completed" and found,
            "the end of the campaign",
            30.0,
        )
        self.assertEqual(done["progress"]["total"], 3)
        with self.assertRaises(sms.InvalidStateError):
            api.campaigns.delete(made["id"])

    def test_adds_lists_and_removes_suppressions(self):
        api = client()
        added = api.suppressions.add(suppressions=[{"number": "08035000001", "reason": "asked"}])
        self.assertEqual(added["added"], 1)
        self.assertEqual(api.suppressions.add_csv("number\n08035000001\n")["unchanged"], 1)
        number = "+2348035000001"
        self.assertEqual([one["number"] for one in api.suppressions.list(number=number)], [number])
        api.suppressions.remove(number)
        self.assertEqual(list(api.suppressions.list(number=number)), [])
        self.assertEqual(list(api.inbound_messages.list(limit=1)), [])


if __name__ == "__main__":
    unittest.main()
