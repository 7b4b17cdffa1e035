#!/usr/bin/env bash
# test_without.sh SOURCE TREE LOADTEST: the project without the client libraries of RabbitMQ, memcached and ZooKeeper,
# as where they are not installed. It builds (in TREE, which is kept), it starts although it is told where these are,
# GET /strategies says of each strategy why it is not there, and the harness runs all the others and names those three.
# Needs PostgreSQL's address (tests/with-stack.sh); Redis is not given, so that fewer strategies are left to run.
set -euo pipefail

source_tree=$1 tree=$2 loadtest=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/test-without.XXXXXX")
server=''

fail() { echo "test_without: $*" >&2; exit 1; }

finish() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
  rm -rf "$work"
}
trap finish EXIT

build() {
  cmake -S "$source_tree" -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DSECKILL_WERROR=ON -DSECKILL_TESTS=OFF \
    -DSECKILL_RABBITMQ=OFF -DSECKILL_MEMCACHED=OFF -DSECKILL_ZOOKEEPER=OFF
  cmake --build "$tree" --target seckill-server
}

start_server() { # sets url
  local line
  exec 3< <(exec "$tree/server/seckill-server" --listen 127.0.0.1:0 --database "$SECKILL_TEST_DATABASE" \
    --amqp amqp://127.0.0.1:1/ --memcached unix:///nowhere --zookeeper 127.0.0.1:1)
  server=$!
  read -r line <&3 || fail "the server does not start"
  url=${line#listening on }
}

says_why() { # STRATEGY LIBRARY
  grep -q "\"name\": \"$1\"[^{}]*\"available\": false, \"unavailable_reason\": \"$2 was absent" "$work/strategies" ||
    fail "GET /strategies does not say that $1 lacks $2: $(cat "$work/strategies")"
}

lists_them() {
  curl -sS --fail --max-time 10 "$url/strategies" >"$work/strategies"
  says_why partitioned-queue librabbitmq
  says_why memcached-lock libmemcached
  says_why zookeeper-lock libzookeeper-mt
}

# Counted restocks: nothing but the strategy's own path to the stock, a second for each.
leaves_them_out() {
  local name
  "$loadtest" run --server-binary "$tree/server/seckill-server" --strategies all --scenario counter --duration 1s \
    --connections 8 --database "$SECKILL_TEST_DATABASE" --out "$work/out" >"$work/said" 2>&1 ||
    fail "the harness ended with $?: $(cat "$work/said")"
  for name in partitioned-queue memcached-lock zookeeper-lock; do
    grep -q "^seckill-loadtest: left out: $name (lib" "$work/said" || fail "$name is not said to be left out: $(cat "$work/said")"
    ! grep -q "^$name " "$work/said" || fail "$name is in the table: $(cat "$work/said")"
  done
  grep -q '^conditional .* kept\(,\|$\)' "$work/said" || fail "conditional was not run: $(cat "$work/said")"
}

build
start_server
lists_them
leaves_them_out
echo "test_without: all good"
