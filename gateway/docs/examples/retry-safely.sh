#!/bin/sh
# Sends one message exactly once, through errors and lost responses: every attempt carries the same
# Idempotency-Key. Gives up after an hour, long before the key is forgotten (24 hours): look for the
# message then, before it is sent again. Needs BASE_URL, API_KEY, SENDER_ID, TO and IDEMPOTENCY_KEY
# in the environment.
set -eu
# curl leaves out a header without a value, and a repeat without the key would be a second message.
: "${IDEMPOTENCY_KEY:?is not set}"

answer=$(mktemp)
trap 'rm -f "$answer" "$answer.head"' EXIT
wait=1
give_up_at=$(($(date +%s) + 3600))

while [ "$(date +%s)" -lt "$give_up_at" ]; do
  status=$(curl --silent --max-time 30 \
    --output "$answer" --dump-header "$answer.head" --write-out '%{http_code}' \
    --request POST "$BASE_URL/v1/sms/messages" \
    --header "Authorization: Bearer $API_KEY" \
    --header "Content-Type: application/json" \
    --header "Idempotency-Key: $IDEMPOTENCY_KEY" \
    --data "{\"to\": \"$TO\", \"from\": \"$SENDER_ID\", \"body\": \"Your code is 123456\"}") || status=000

  pause=$wait
  case $status in
    202) sed -E 's/.*"id":"([^"]+)".*"status":"([^"]+)".*/\1 \2/' "$answer"; exit 0 ;;
    429 | 503) pause=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([1-9][0-9]*\).*/\1/p' "$answer.head") ;;
    # 000: no answer came. The request may have been accepted; the key makes asking again safe.
    000 | 408 | 5??) ;;
    409) grep -q '"code":"conflict"' "$answer" || { cat "$answer" >&2; exit 1; } ;;
    *) cat "$answer" >&2; exit 1 ;;
  esac
  sleep "${pause:-$wait}"
  wait=$((wait * 2 < 60 ? wait * 2 : 60))
done
echo "no answer within an hour: look for the message before sending it again" >&2
exit 1
