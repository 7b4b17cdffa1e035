#!/usr/bin/env bash
# The comparison in one command: which strategies oversold, and how fast each was, with one instance and with three.
# Installs what is missing, builds, starts a private PostgreSQL and Redis, runs the harness, and stops everything
# again. The harness prints the table and which folder of results/ has the figures behind it. Under five minutes on two cores.
#
# Arguments go to seckill-loadtest run and win over those given here: demo.sh --duration 10s --strategies all
# The exit status is the harness's: 0 when every strategy kept what it promises.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

install_packages "${build_packages[@]}" "${run_packages[@]}"
build release seckill-server seckill-loadtest
trap pass_on INT TERM HUP
use_stack "$root/.stack/demo" fresh
cd "$root"
build/release/loadtest/seckill-loadtest run --server-binary build/release/server/seckill-server \
  --strategies none,local-lock,pessimistic,optimistic,conditional,redis-queue \
  --scenario hot --instances 1,3 --duration 4s --rounds 2 "$@" &
child=$!
wait_child
