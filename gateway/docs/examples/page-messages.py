"""Lists the ids of all messages of a time span, page by page.

Both bounds are sent, so that no message is missed or shown twice while new ones arrive. Needs
BASE_URL, API_KEY, CREATED_AFTER and CREATED_BEFORE in the environment.
"""

import json
import os
import urllib.parse
import urllib.request

query = {
    "created_after": os.environ["CREATED_AFTER"],
    "created_before": os.environ["CREATED_BEFORE"],
    "limit": os.environ.get("LIMIT", "100"),
}

while True:
    request = urllib.request.Request(
        f"{os.environ['BASE_URL']}/v1/messages?{urllib.parse.urlencode(query)}",
        headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        page = json.load(response)
    for message in page["data"]:
        print(message["id"])
    if page["next_cursor"] is None:
        break
    query["cursor"] = page["next_cursor"]
