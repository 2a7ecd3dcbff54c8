#!/bin/sh
# Generates the protocol's code once more and compares: what is committed must be what the protocol says.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
cd "$root/proto"
../node_modules/.bin/buf generate --output "$fresh"
if ! diff -r "$fresh/gen" gen >/dev/null; then
  echo "proto/gen is not what the protocol generates: run (cd proto && ../node_modules/.bin/buf generate)" >&2
  exit 1
fi
