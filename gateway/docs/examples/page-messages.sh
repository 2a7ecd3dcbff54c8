#!/bin/sh
# Lists the ids of all messages of a time span, page by page. Both bounds are sent, so that no
# message is missed or shown twice while new ones arrive. Needs BASE_URL, API_KEY, CREATED_AFTER
# and CREATED_BEFORE in the environment.
set -eu

cursor=
while :; do
  page=$(curl --silent --show-error --fail-with-body --get "$BASE_URL/v1/messages" \
    --header "Authorization: Bearer $API_KEY" \
    --data-urlencode "created_after=$CREATED_AFTER" \
    --data-urlencode "created_before=$CREATED_BEFORE" \
    --data-urlencode "limit=${LIMIT:-100}" \
    ${cursor:+--data-urlencode "cursor=$cursor"}) || { printf '%s\n' "$page" >&2; exit 1; }
  printf '%s\n' "$page" | grep -o '"id":"msg_[^"]*"' | cut -d'"' -f4 || true
  cursor=$(printf '%s\n' "$page" | sed -n 's/.*"next_cursor":"\([^"]*\)".*/\1/p')
  [ -n "$cursor" ] || break
done
