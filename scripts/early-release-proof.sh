#!/usr/bin/env bash
# early-release-proof.sh [SEEDS]: the long form of tests/integration/faults/test_early_release.c. PostgreSQL is killed,
# stopped at once, and lost to a synchronous standby, in the middle of sales that answer after somebody else's flush
# (docs/strategies/early-release.md), for so many seeds (20); every answer is compared with the rows. A control without the flush
# must lose orders. Installs what is missing and builds; PostgreSQL servers of its own; some minutes.
#
# Prints a line for each sale of each seed. Exit status 0: nothing was lost that anybody had been told of.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

seeds=${1:-20}
[[ $seeds =~ ^[1-9][0-9]*$ ]] || { echo "early-release-proof.sh: not a number of seeds: $seeds" >&2; exit 2; }
install_packages "${build_packages[@]}" "${run_packages[@]}"
build dev integration_early_release seckill-server
use_stack "$root/.stack/proof" fresh
SECKILL_TEST_SEEDS=$seeds "$root/tests/with-stack.sh" "$root/.stack/proof" \
  "$root/build/dev/tests/integration/integration_early_release"
