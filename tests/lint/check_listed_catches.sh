#!/usr/bin/env bash
# Proves that check_listed.sh goes red, and only where it should.
set -euo pipefail

lint=$(cd "$(dirname "$0")" && pwd)
check=$lint/check_listed.sh
# shellcheck source-path=SCRIPTDIR source=tree.sh
. "$lint/tree.sh"

refuses "a tree without tests"
put tests/unit/CMakeLists.txt 'seckill_unit_test(clock SOURCES test_clock.c LIBS seckill_base)
seckill_unit_test(lane)
# seckill_unit_test(asleep)
seckill_unit_test(lane_long TIMEOUT 600)'
put tests/unit/test_clock.c ''
put tests/unit/test_lane.c ''
put tests/unit/test_lane_long.c ''
# shellcheck disable=SC2016 # CMake's own variable
put tests/scripts/CMakeLists.txt 'seckill_test(NAME scripts.stack
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_stack.sh)'
put tests/scripts/test_stack.sh ''
put tests/unit/helper.c ''
passes "a tree in order"

catches tests/unit/test_bad.c ''
catches tests/unit/test_asleep.c ''
catches tests/unit/test_long.c ''
catches tests/unit/test_lan.c ''
catches tests/scripts/test_clock.c ''
catches tests/nowhere/test_clock.c ''
passes "the tree in order, again"
judge
