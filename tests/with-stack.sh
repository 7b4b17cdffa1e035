#!/usr/bin/env bash
# with-stack.sh DIR COMMAND…: runs COMMAND with the addresses of the stack in DIR, which must be up, as
# SECKILL_TEST_DATABASE, SECKILL_TEST_REDIS and SECKILL_TEST_STOCK_REDIS, and those of what has been started besides
# (SECKILL_TEST_AMQP, _REDLOCK, _MEMCACHED, _ZOOKEEPER, _CLUSTER). SECKILL_TEST_STACK is DIR, and
# SECKILL_TEST_STACK_SH the script, for a test that kills a backend and has it started again.
set -euo pipefail

stack=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/scripts/stack.sh
settings=$("$stack" --dir "$1" env)
eval "$settings"
export SECKILL_TEST_DATABASE=$SECKILL_DATABASE SECKILL_TEST_REDIS=$SECKILL_REDIS
export SECKILL_TEST_STOCK_REDIS=$SECKILL_STOCK_REDIS SECKILL_TEST_STACK=$1 SECKILL_TEST_STACK_SH=$stack
[ -z "${SECKILL_AMQP:-}" ] || export SECKILL_TEST_AMQP=$SECKILL_AMQP
[ -z "${SECKILL_REDLOCK:-}" ] || export SECKILL_TEST_REDLOCK=$SECKILL_REDLOCK
[ -z "${SECKILL_MEMCACHED:-}" ] || export SECKILL_TEST_MEMCACHED=$SECKILL_MEMCACHED
[ -z "${SECKILL_ZOOKEEPER:-}" ] || export SECKILL_TEST_ZOOKEEPER=$SECKILL_ZOOKEEPER
[ ! -f "$1/valkey" ] || export SECKILL_TEST_REDIS_SERVER=valkey-server   # for those of a test's own
[ -z "${SECKILL_CLUSTER:-}" ] || export SECKILL_TEST_CLUSTER=$SECKILL_CLUSTER
# The server reads the others too; a test says itself what its server gets.
unset SECKILL_DATABASE SECKILL_REDIS SECKILL_STOCK_REDIS SECKILL_AMQP SECKILL_REDLOCK SECKILL_MEMCACHED SECKILL_ZOOKEEPER SECKILL_CLUSTER
# Of another program's database: what a server that was killed has not given back.
timeout 20 redis-cli -s "${SECKILL_TEST_STOCK_REDIS#unix://}" del '{seckill}:stock:leases' >/dev/null
[ -z "${SECKILL_TEST_CLUSTER:-}" ] || timeout 20 redis-cli -c -u "$SECKILL_TEST_CLUSTER" del '{seckill}:stock:leases' >/dev/null
shift
exec "$@"
