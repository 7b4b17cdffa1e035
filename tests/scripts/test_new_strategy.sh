#!/usr/bin/env bash
# CONTRIBUTING.md's recipe for a strategy, followed in a copy of the checkout: a copy of redis-token under another name
# is two files, and green; without its lock it is red; and the tables of the texts are written by their script.
set -euo pipefail
root=$1

copy=$(mktemp -d "${TMPDIR:-/tmp}/seckill-new-strategy.XXXXXX")
finish() { rm -rf "$copy"; }
trap finish EXIT
trap 'exit 130' INT TERM

fail() { echo "$*" >&2; exit 1; }

expect() { # STATUS TEXT COMMAND...
  local status=$1 text=$2 said got=0
  shift 2
  said=$("$@" 2>&1) || got=$?
  echo "$said"
  [ "$got" = "$status" ] || fail "$*: exit status $got in place of $status"
  [[ $said == *"$text"* ]] || fail "$*: no word of '$text'"
}

tar -C "$root" --exclude=./build --exclude=./.git --exclude=./.stack -cf - . | tar -C "$copy" -xf -
strategies=$copy/server/strategies
{
  printf '/* redis-token under another name. */\n#include "sale/body/body_chosen.h"\n#include "strategies/strategies.h"\n\n'
  # Its row, with what its macros stand for.
  sed -n '/strategy_redis_token = {/,/^};/p' "$strategies/locked.c" |
    sed -e 's/redis_token = {/redis_token_twin = {/' -e 's/"redis-token"/"redis-token-twin"/' -e 's/^    REDIS_LOCK_ROW,$/\
    .family = FAMILY_REDIS_LOCK,\
    .needs = NEED_POSTGRESQL | NEED_REDIS,\
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY,\
    BODY_CHOSEN,\
    .lane = {.in_flight_per_product = 4, .workers = 16, .max_batch = 1},/'
} >"$strategies/redis_token_twin.c"
sed -i '/^STRATEGY(redis_token,/a STRATEGY(redis_token_twin, redis_token_twin)' "$strategies/strategies.def"
touched=$(diff -rq --exclude=build --exclude=.git --exclude=.stack "$root" "$copy" || true)
[ "$(wc -l <<<"$touched")" = 2 ] || fail "not two files: $touched"

cd "$copy"
expect 0 'redis-token-twin keeps its promise' scripts/test.sh --strategy redis-token-twin
begun=$SECONDS
sed -i '/\.lock = /d' "$strategies/redis_token_twin.c"
expect 1 'redis-token-twin FAILS' scripts/test.sh --strategy redis-token-twin
echo "a verdict in $((SECONDS - begun)) s after an edit"

expect 1 'stale: docs/STRATEGIES.md, docs/STRATEGIES.zh.md' scripts/strategy_tables.py build/dev/server/seckill-server --check
expect 0 'written into' scripts/strategy_tables.py build/dev/server/seckill-server
expect 0 '' scripts/strategy_tables.py build/dev/server/seckill-server --check
for check in layers sizes; do expect 0 '' "tests/lint/check_$check.sh"; done
