#!/usr/bin/env bash
# Lets libFuzzer look for inputs that break a reader: fuzz.sh [TARGET…] [--minutes N]
#
# Each target of tests/fuzz (all of them, when none is named) runs for N minutes, 5 unless told otherwise, one after the
# other, with AddressSanitizer and UndefinedBehaviorSanitizer; it begins with its corpus (tests/fuzz/corpus) and with what
# earlier runs have found worth keeping (build/fuzz/corpus). Installs what is missing first.
#
# The last lines say what each has done. An input that broke one is in build/fuzz/found; the exit status is then 1. It
# belongs into the corpus, made as small as it goes, with the mended reader: build/fuzz/tests/fuzz/fuzz_TARGET FILE
# shows it again, and … -minimize_crash=1 -max_total_time=60 FILE makes it smaller.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# A process of its own for each two minutes: what a setting keeps until the process ends does not pile up.
round_s=120
minutes=5
targets=()
mapfile -t known < <(cd "$root/tests/fuzz" && printf '%s\n' fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')

while [ $# -gt 0 ]; do
  case $1 in
    --minutes)
      [[ ${2:-} =~ ^[1-9][0-9]{0,4}$ ]] || die "--minutes takes a number from 1 to 99999"
      minutes=$2
      shift
      ;;
    -*) die "fuzz.sh [TARGET…] [--minutes N]; there is no $1" ;;
    *)
      [[ " ${known[*]} " == *" $1 "* ]] || die "there is no target $1; there are ${known[*]}"
      targets+=("$1")
      ;;
  esac
  shift
done
[ ${#targets[@]} -gt 0 ] || targets=("${known[@]}")

fuzz() { # TARGET: to the end of its time, or to the first input that breaks it
  local target=$1 until=$((SECONDS + minutes * 60)) log=$root/build/fuzz/$1.log left runs=0 status=0
  local corpus=$root/build/fuzz/corpus/$target found=$root/build/fuzz/found
  mkdir -p "$corpus" "$found"
  : >"$log"
  while [ $status = 0 ] && left=$((until - SECONDS)) && [ $left -gt 0 ]; do
    "$root/build/fuzz/tests/fuzz/fuzz_$target" -max_total_time=$((left < round_s ? left : round_s)) -timeout=20 \
      -print_final_stats=1 -artifact_prefix="$found/$target-" "$corpus" "$root/tests/fuzz/corpus/$target" \
      >>"$log" 2>&1 || status=$?
  done
  runs=$(awk '/stat::number_of_executed_units/ { sum += $2 } END { print sum + 0 }' "$log")
  if [ $status = 0 ]; then
    say "$target: $minutes min, $runs inputs, nothing found"
  else
    say "$target: BROKEN after $runs inputs; build/fuzz/found, and the end of $log says how"
  fi
  return $status
}

install_packages "${build_packages[@]}" clang:clang libclang-rt-dev
build fuzz "${targets[@]/#/fuzz_}"
broken=0
for target in "${targets[@]}"; do fuzz "$target" || broken=1; done
exit $broken
