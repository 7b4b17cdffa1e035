#!/usr/bin/env bash
# test_serve.sh SERVER: scripts/serve.sh in a folder of its own, with a server that is built already: one alone, and
# three behind HAProxy, where local-lock oversells and admin calls need the token that it has made, and two cells, of which
# one goes on selling while the other's database is killed, and that one when its standby has taken over. A signal stops
# all.
# And the README's curl and wrk, and what serve.sh itself says, as they are typed.
set -euo pipefail

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../../scripts/stack.d/ports.sh
source "$checkout/scripts/stack.d/ports.sh"
command -v wrk >/dev/null || { echo "skipped: wrk is not installed"; exit 77; }
PATH=$PATH:/usr/sbin command -v haproxy >/dev/null || { echo "skipped: haproxy is not installed"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/test-serve.XXXXXX")
serving='' out=$work/out

fail() { echo "test_serve: line ${BASH_LINENO[0]}: $*" >&2; cat "$out" >&2; exit 1; }

finish() {
  [ -z "$serving" ] || { kill "$serving" 2>/dev/null && wait "$serving" 2>/dev/null; } || true
  find "$work/.stack" -name home -printf '%h\n' | while read -r dir; do "$work/scripts/stack.sh" --dir "$dir" down --purge; done || true
  rm -rf "$work"
}
trap finish EXIT

mkdir -p "$work/bin" "$work/build/release/server" "$work/docker" "$work/ops"
cp -r "$checkout/scripts" "$work"
cp "$checkout/docker/haproxy.cfg" "$work/docker"
cp -r "$checkout/ops/haproxy" "$work/ops"
ln -s "$1" "$work/build/release/server/seckill-server"
printf '#!/bin/sh\n' >"$work/bin/cmake" # there is nothing to build
chmod +x "$work/bin/cmake"

serve() { # ARGUMENT...: to where it says that it serves; page is what it names
  # A proxy that is not there: what is on loopback is not asked through it.
  env -u no_proxy -u NO_PROXY http_proxy=http://127.0.0.1:9 ALL_PROXY=http://127.0.0.1:9 PATH="$work/bin:$PATH" \
    "$work/scripts/serve.sh" "$@" >"$out" 2>&1 &
  serving=$!
  for _ in $(seq 1200); do
    ! grep -q '^.*Ctrl-C stops all of it' "$out" || break
    kill -0 $serving 2>/dev/null || fail "it has ended"
    sleep 0.1
  done
  page=$(sed -n 's/^  \(http[^ ]*\)$/\1/p' "$out")
  url=${page%%/#*}
  url=${url%/}
  [ -n "$url" ] || fail "it names no page"
}

stop() {
  local code=0
  kill "$serving"
  wait "$serving" || code=$?
  serving=''
  [ $code = 0 ] || fail "exit status $code"
  [ -z "$(pgrep -f "$work/" || true)" ] || fail "left running: $(pgrep -af "$work/")"
}

status() { # METHOD PATH [CURL OPTION]...
  curl -s -o "$work/answer" -w '%{http_code}' --max-time 60 -X "$1" "$url$2" "${@:3}"
}

expect() { # WANTED METHOD PATH [CURL OPTION]...
  local got
  got=$(status "${@:2}")
  [ "$got" = "$1" ] || fail "$2 $3: $got in place of $1: $(cat "$work/answer")"
}

begin_anew() { # types what it says of a new sale
  local lines
  lines=$(sed -n '/^begin its sale anew/,/^or open/s/^  //p' "$out")
  eval "$lines -sS --fail-with-body --max-time 60" >"$work/answer" 2>&1 || fail "$lines: $(cat "$work/answer")"
  grep -q '"stock": 100' "$work/answer" || fail "$lines: $(cat "$work/answer")"
}

! "$work/scripts/serve.sh" --port >"$out" 2>&1 || fail "it takes a flag without its value"
[ "$(cat "$out")" = 'serve.sh: --port takes a number' ] || fail "a flag without its value"

serve --port 0
expect 200 GET /
begin_anew
expect 201 POST /orders -d '{"product_id": 1, "user_id": 1}'
expect 200 PUT /products/1 -H "Origin: $url" -d '{"stock": 100}'

typed() { sed -n '/^\W\W\Wsh$/,/^\W\W\W$/{s/  *#.*//;/^\(curl\|wrk\) /p}' "$checkout/$1"; }   # README: its lines
[ "$(typed README.md)" = "$(typed README.zh.md)" ] || fail "the Chinese README has other commands: $(typed README.zh.md)"
lines=0 id=''
while read -r line; do
  line=${line/http:\/\/127.0.0.1:8080/$url} line=${line/-d10s/-d4s} line=${line/ID/$id}
  case $line in curl*) line="$line -sS --fail-with-body --max-time 60" ;; esac
  (cd "$checkout" && eval "$line") >"$work/answer" 2>&1 || fail "$line: $(cat "$work/answer")"
  case $line in
    wrk*) cp "$work/answer" "$work/wrk" ;;
    *Idempotency-Key*) id=$(sed -n 's/.*"id": "\([^"]*\)".*/\1/p' "$work/answer") ;;
    */cancel*) grep -q '"status": "cancelled"' "$work/answer" || fail "$line: $(cat "$work/answer")" ;;
  esac
  lines=$((lines + 1))
done < <(typed README.md)
[ $lines = 8 ] || fail "the README has $lines lines to type, not 8"
grep -qx '201: 100' "$work/wrk" || fail "wrk: $(cat "$work/wrk")"
grep -q '^409: ' "$work/wrk" || fail "nobody was told that all is sold: $(cat "$work/wrk")"
expect 200 GET /products/1/audit
grep -q '"stock": 0, "sold": 100, "oversold": 0' "$work/answer" || fail "the audit: $(cat "$work/answer")"
stop

port=$(free_port)
serve --port "$port" --instances 3 --work-ms 20
token=${page#*#token=}
[ "$url ${#token}" = "http://127.0.0.1:$port 32" ] || fail "the page is $page"
auth="Authorization: Bearer $token"
expect 200 GET /
expect 401 PUT /products/1 -d '{"stock": 10}'
begin_anew
# shellcheck disable=SC2016  # as it stands in the README
header='-H "Authorization: Bearer $token"'
for readme in README.md README.zh.md; do
  grep -qF -e "$header" "$checkout/$readme" || fail "$readme does not say what an admin call needs"
  line="$(typed "$readme" | sed -n '/-X PUT .url/p') $header -sS --fail-with-body --max-time 60"
  eval "$line" >"$work/answer" 2>&1 || fail "$line: $(cat "$work/answer")"
done
oversells() { # a race: false when nobody has lost it, as where the machine hardly gets to start the buyers
  expect 200 PUT /products/1 -H "$auth" -d '{"stock": 10}'
  seq 60 | xargs -P 12 -I{} curl -s -o "$work/none" --max-time 60 -d '{"product_id": 1, "user_id": {}}' \
    "$url/orders?strategy=local-lock" || fail "a buyer has no answer"
  expect 200 GET /products/1/audit -H "$auth"
  ! grep -q '"oversold": 0' "$work/answer"
}
for _ in $(seq 20); do ! oversells || break; done
! grep -q '"oversold": 0' "$work/answer" || fail "local-lock has kept it: $(cat "$work/answer")"
stop

serve --port "$port" --cells 2
auth="Authorization: Bearer ${page#*#token=}" sold=()
for product in 1 2 3 4 5 6 7 8; do
  [ $product = 1 ] || expect 201 PUT /products/$product -H "$auth" -d '{"stock": 10}'
  expect 201 POST '/orders?strategy=conditional' -d "{\"product_id\": $product, \"user_id\": 1}"
  id=$(sed -n 's/.*"id": "\([^"]*\)".*/\1/p' "$work/answer")
  expect 200 GET "/orders/$id"
  sold[10#${id:24:2}]=$product
done
[ "${!sold[*]}" = '1 2' ] || fail "products are in the cells ${!sold[*]}"
for cell in 1 2; do
  expect 200 GET /cells/0$cell/readyz
  grep -q "\"cell\": \"$cell/2\"" "$work/answer" || fail "cell $cell: $(cat "$work/answer")"
done
"$work/scripts/stack.sh" --dir "$work/.stack/cells/2" signal postgres KILL
expect 201 POST '/orders?strategy=conditional' -d "{\"product_id\": ${sold[1]}, \"user_id\": 2}"
expect 503 POST '/orders?strategy=conditional' -d "{\"product_id\": ${sold[2]}, \"user_id\": 2}"
line=$(sed -n 's/^its primary dies.*: \(.* failover\)\..*/\1/p' "$out")
(cd "$work" && eval "${line/cells\/1/cells\/2}" >"$work/answer" 2>&1) || fail "$line: $(cat "$work/answer")"
for _ in $(seq 300); do
  [ "$(status POST '/orders?strategy=conditional' -d "{\"product_id\": ${sold[2]}, \"user_id\": 2}")" != 201 ] || break
  sleep 0.1
done
grep -q '"status": "confirmed"' "$work/answer" || fail "the standby does not sell: $(cat "$work/answer")"
stop
