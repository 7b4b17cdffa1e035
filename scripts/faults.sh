#!/usr/bin/env bash
# The matrix of faults in one command: every strategy under every fault, three runs of each (docs/FAULTS.md). Installs
# what is missing, builds, starts a private PostgreSQL, Redis and what else strategies need, breaks them while they
# sell, and stops everything again. About two hours on two cores; with --short some two minutes.
#
# Other arguments go to seckill-loadtest faults and win over those given here: faults.sh --runs 20 --faults stall
# The exit status is the harness's: 0 when every cell is as its promise has it and every control was seen to fail.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

install_packages "${build_packages[@]}" "${run_packages[@]}" "${component_packages[@]}"
build release seckill-server seckill-loadtest
build dev seckill-server # has the test's strategy that is the control of a column
trap pass_on INT TERM HUP
use_stack "$root/.stack/faults" fresh --with all
cd "$root"
build/release/loadtest/seckill-loadtest faults --server-binary build/release/server/seckill-server \
  --control-binary build/dev/server/seckill-server \
  --stack "$stack --dir $stack_dir" "$@" &
child=$!
wait_child
