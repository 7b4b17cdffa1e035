#!/usr/bin/env bash
# The comparison in one command: which strategies oversold, and how fast each was, with one instance and with three.
# Installs what is missing, builds, starts a private PostgreSQL and Redis, runs the harness, and stops everything
# again. The harness prints the table and which folder of results/ has the figures behind it. Under five minutes on two cores.
#
# With --all in front: every strategy, also those that need RabbitMQ, three more Redis, memcached or ZooKeeper, which
# it installs and starts like the rest. That is about four times as long.
#
# Other arguments go to seckill-loadtest run and win over those given here: demo.sh --duration 10s --strategies batch
# The exit status is the harness's: 0 when every strategy kept what it promises.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

strategies=none,local-lock,pessimistic,optimistic,conditional,redis-queue
packages=("${build_packages[@]}" "${run_packages[@]}") components=()
if [ "${1:-}" = --all ]; then
  shift
  strategies=all
  packages+=("${component_packages[@]}") components=(--with all)
fi

install_packages "${packages[@]}"
build release seckill-server seckill-loadtest
trap pass_on INT TERM HUP
use_stack "$root/.stack/demo" fresh "${components[@]}"
cd "$root"
build/release/loadtest/seckill-loadtest run --server-binary build/release/server/seckill-server \
  --strategies "$strategies" \
  --scenario hot --instances 1,3 --duration 4s --rounds 2 "$@" &
child=$!
wait_child
