#!/bin/sh
# Sends one message. Needs BASE_URL, API_KEY, SENDER_ID and TO in the environment.
set -eu

answer=$(curl --silent --show-error --fail-with-body \
  --request POST "$BASE_URL/v1/sms/messages" \
  --header "Authorization: Bearer $API_KEY" \
  --header "Content-Type: application/json" \
  --data "{\"to\": \"$TO\", \"from\": \"$SENDER_ID\", \"body\": \"Your code is 123456\"}") || {
  printf '%s\n' "$answer" >&2
  exit 1
}
printf '%s\n' "$answer" | sed -E 's/.*"id":"([^"]+)".*"status":"([^"]+)".*/\1 \2/'
