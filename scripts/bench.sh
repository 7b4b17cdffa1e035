#!/usr/bin/env bash
# How close the server comes to what this machine can do, in one command: the table of docs/PERFORMANCE.md.
# Installs what is missing, builds, starts a private PostgreSQL and Redis, measures, and stops everything again.
# It measures for under four minutes on two cores; with --full every row, half an hour or more.
#
# Arguments go to seckill-bench: bench.sh --full, bench.sh --rows 2,5 --rounds 5
# The exit status is the bench's: 0 when every row reaches its bound, 1 when one misses it, 2 when one could not be
# measured.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

install_packages "${build_packages[@]}" "${run_packages[@]}" "${bench_packages[@]}"
build release seckill-server seckill-bench-server seckill-bench
trap pass_on INT TERM HUP
use_stack "$root/.stack/bench" fresh
cd "$root"
standby="'$stack' --dir '$stack_dir' up --with standby && psql -X -q '${SECKILL_DATABASE/user=seckill/user=postgres}' \
  -c \"ALTER SYSTEM SET synchronous_standby_names = 'standby'\" -c 'SELECT pg_reload_conf()'"
build/release/bench/seckill-bench --server-binary build/release/server/seckill-server --standby "$standby" "$@" &
child=$!
wait_child
