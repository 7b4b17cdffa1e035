#!/bin/bash
# Puts product 1 on sale, unless there is one: so that there is something to buy when HAProxy opens. Runs in the servers'
# image, which has no curl.
set -euo pipefail

ask() { # METHOD BODY: prints the status
  local answer
  exec 3<>/dev/tcp/server-1/8080
  printf '%s /products/1 HTTP/1.0\r\nHost: server-1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s' \
    "$1" "$(</run/secrets/admin_token)" "${#2}" "$2" >&3
  read -r -t 15 _ answer _ <&3
  exec 3>&-
  echo "$answer"
}

# A new database's tables are still being made.
for _ in {1..60}; do
  status=$(ask GET '')
  [ "$status" = 503 ] || break
  sleep 1
done
if [ "$status" = 404 ]; then status=$(ask PUT '{"name": "first", "stock": 100}'); fi
case $status in
  200 | 201) echo "product 1 is on sale" ;;
  *) echo "product 1 cannot be put on sale: $status" >&2; exit 1 ;;
esac
