"""Sends one message. Needs BASE_URL, API_KEY, SENDER_ID and TO in the environment."""

import json
import os
import sys
import urllib.error
import urllib.request

request = urllib.request.Request(
    f"{os.environ['BASE_URL']}/v1/sms/messages",
    method="POST",
    headers={
        "Authorization": f"Bearer {os.environ['API_KEY']}",
        "Content-Type": "application/json",
    },
    data=json.dumps(
        {"to": os.environ["TO"], "from": os.environ["SENDER_ID"], "body": "Your code is 123456"}
    ).encode(),
)

try:
    with urllib.request.urlopen(request, timeout=30) as response:
        message = json.load(response)["data"]
except urllib.error.HTTPError as error:
    sys.exit(error.read().decode())

print(message["id"], message["status"])
