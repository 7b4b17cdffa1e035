#!/usr/bin/env bash
# Every test, in one ctest run over three builds: plain, with AddressSanitizer and UndefinedBehaviorSanitizer (names
# that begin with asan.), and with ThreadSanitizer (tsan.). Everything is also compiled by clang, and by
# the newest clang that Debian 12 and 13 both have, which warns of more. Warnings are errors.
# A test that would tell a build nothing new is left out there (the label `again`), unless arguments choose.
# Installs what is missing first. Arguments go to ctest: test.sh -L unit, test.sh -R http; test.sh -R . is everything.
#
# The last lines are ctest's summary, and the exit status is ctest's.
#
# test.sh --strategy NAME: the conformance suite alone, for one strategy, in the plain build, on a stack of its own with
# what the strategy needs; for while one is being written. The last line is the verdict.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

all=$root/build/all

# ThreadSanitizer of gcc 12 to 14 does not start where the kernel spreads addresses over more than 28 bits.
fixed_addresses=()
if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -gt 28 ] && setarch -R true 2>/dev/null; then
  fixed_addresses=(setarch -R)
fi

stop_stacks() {
  local dir
  for dir in "$root"/build/{dev,asan,tsan}/stacks/*/; do
    [ ! -d "$dir" ] || "$stack" --dir "${dir%/}" down
  done
}

stop_tests() {
  interrupted=1
  [ -z "$child" ] || kill -s TERM -- "-$child" 2>/dev/null || true
}

test_strategy() { # NAME
  local name=$1 log=$root/build/dev/strategy.log needs with status=0
  install_packages "${build_packages[@]}" "${run_packages[@]}"
  build dev seckill-server integration_conformance
  check_strategies "$root/build/dev/server/seckill-server" --strategy "$name"
  needs=$("$root/build/dev/server/seckill-server" --strategies | awk -v name="$name" '$1 == name { print $3 }')
  with=$(tr , '\n' <<<"$needs" | grep -vxE 'postgresql|redis|stock-redis' | paste -sd , || true)
  [ -z "$with" ] || install_packages "${component_packages[@]}"
  trap pass_on INT TERM HUP
  use_stack "$root/.stack/strategy" fresh ${with:+--with "$with"}
  "$root/tests/with-stack.sh" "$stack_dir" "$root/build/dev/tests/integration/integration_conformance" --strategy "$name" \
    >"$log" 2>&1 &
  child=$!
  wait_child || status=$?
  grep '^notice: ' "$log" | sort -u || true
  if [ $status != 0 ]; then
    grep -E '^\[ +(ERROR|LINE) |^\[  FAILED  \] [^0-9]' "$log" | awk '!/FAILED/ || !seen[$0]++' || tail -n 20 "$log"
    die "$name FAILS; all that was said is in $log"
  fi
  say "$name keeps its promise in $(grep -c '^\[       OK \] ' "$log") tests, $SECONDS s after the start"
}

case ${1:-} in
  --strategy)
    [ $# = 2 ] || die "--strategy takes one name, and nothing goes with it"
    test_strategy "$2"
    exit 0
    ;;
esac

install_packages "${build_packages[@]}" "${run_packages[@]}" "${bench_packages[@]}" "${component_packages[@]}" \
  "${example_packages[@]}" "${cluster_packages[@]}" "${test_packages[@]}"
for preset in dev asan tsan; do build "$preset"; done
build dev-clang
build dev-clang-19

mkdir -p "$all"
echo 'subdirs(../dev ../asan ../tsan)' >"$all/CTestTestfile.cmake"
trap stop_stacks EXIT
trap stop_tests INT TERM HUP
[ $# -gt 0 ] || set -- --label-exclude '^again$'
# In a session of its own, so that a signal can be meant for ctest and its tests together. More tests than there are
# cores: those on one stack take turns at its servers, and wait three times as long as they compute, for leases to end
# above all. What counts for several has to be the first (tests/scripts): ctest starts such a one later only when as many
# others end at the same moment, so at the end.
setsid "${fixed_addresses[@]}" ctest --test-dir "$all" --output-on-failure --parallel "$(($(nproc) * 3))" "$@" &
child=$!
wait_child
