"""Sends one message exactly once, through errors and lost responses.

Every attempt carries the same Idempotency-Key. Gives up after an hour, long before the key is
forgotten (24 hours): look for the message then, before it is sent again. Needs BASE_URL, API_KEY,
SENDER_ID, TO and IDEMPOTENCY_KEY in the environment.
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request


def is_worth_another(status, text):
    """A proxy on the way may answer 502, 503 or 504, and not in JSON. Of 409 only conflict passes by itself."""
    if status == 409:
        try:
            return json.loads(text)["code"] == "conflict"
        except (ValueError, KeyError, TypeError):
            return False
    return status in (408, 429) or status >= 500


def attempt():
    """Answers the accepted message, or how many seconds to wait (0: as the back-off says)."""
    request = urllib.request.Request(
        f"{os.environ['BASE_URL']}/v1/sms/messages",
        method="POST",
        headers={
            "Authorization": f"Bearer {os.environ['API_KEY']}",
            "Content-Type": "application/json",
            "Idempotency-Key": os.environ["IDEMPOTENCY_KEY"],
        },
        data=json.dumps(
            {"to": os.environ["TO"], "from": os.environ["SENDER_ID"], "body": "Your code is 123456"}
        ).encode(),
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)["data"]
    except urllib.error.HTTPError as error:
        try:
            text = error.read().decode(errors="replace")
        except (OSError, http.client.HTTPException):
            return 0
        if not is_worth_another(error.code, text):
            sys.exit(text)
        # A proxy may name a date, which is not worth reading.
        seconds = error.headers.get("Retry-After", "")
        return int(seconds) if seconds.isdecimal() else 0
    except (OSError, http.client.HTTPException):
        # No answer came. The message may have been accepted; the key makes asking again safe.
        return 0


back_off = 1
give_up_at = time.monotonic() + 3600
while time.monotonic() < give_up_at:
    outcome = attempt()
    if isinstance(outcome, dict):
        print(outcome["id"], outcome["status"])
        sys.exit()
    time.sleep(outcome or back_off)
    back_off = min(60, back_off * 2)
sys.exit("no answer within an hour: look for the message before sending it again")
