#!/usr/bin/env bash
# Takes the server's guards away, one at a time, in a copy of the checkout, and sees to it that a test goes red.
#
#   mutations.sh [--few] [PATTERN]   those marked `few`; those whose name matches PATTERN; else all
#
# tests/mutations.txt says which guard, how it is taken away and which test has to notice. Each of these tests is run
# on the unchanged copy first: one that is red anyway proves nothing. Exit status 1 when a mutation survives, does
# not apply or does not build. It uses the stack whose addresses it is given (tests/with-stack.sh), or starts one
# in the copy.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
few='' pattern='*'
copy='' own_stack=''
names=() files=() seds=() programs=() patterns=()
failures=0

die() { echo "mutations.sh: $*" >&2; exit 1; }

finish() {
  if [ -n "$own_stack" ]; then "$root/scripts/stack.sh" --dir "$copy/stack" down --purge || true; fi
  if [ -n "$copy" ]; then rm -rf "$copy"; fi
}
trap finish EXIT
trap 'exit 130' INT TERM

# Keeps a record that was asked for.
keep() { # NAME FILE SED TEST FEW
  [ -n "$1" ] || return 0
  if [ -n "$few" ] && [ -z "$5" ]; then return 0; fi
  # shellcheck disable=SC2053  # a pattern is what is wanted
  if [[ $1 != $pattern ]]; then return 0; fi
  names+=("$1") files+=("$2") seds+=("$3") programs+=("${4%% *}") patterns+=("${4#* }")
}

read_table() {
  local line name='' file='' sed='' test='' marked=''
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      '#'*) ;;
      'name: '*) name=${line#name: } ;;
      'file: '*) file=${line#file: } ;;
      'sed: '*) sed=${line#sed: } ;;
      'test: '*) test=${line#test: } ;;
      few) marked=1 ;;
      '') keep "$name" "$file" "$sed" "$test" "$marked"; name='' marked='' ;;
      *) die "not understood: $line" ;;
    esac
  done <"$root/tests/mutations.txt"
  keep "$name" "$file" "$sed" "$test" "$marked"
  [ ${#names[@]} -gt 0 ] || die "no mutation is named $pattern"
}

make_copy() {
  copy=$(mktemp -d /tmp/seckill-mutations.XXXXXX)
  tar -C "$root" --exclude=./build --exclude=./.git --exclude=./.stack -cf - . | tar -C "$copy" -xf -
  cmake -S "$copy" -B "$copy/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DSECKILL_FAILPOINTS=ON >"$copy/log" 2>&1 ||
    die "$(tail "$copy/log")"
}

build() { # PROGRAM
  cmake --build "$copy/build" -j2 --target seckill-server "integration_$1" >"$copy/log" 2>&1
}

run_test() { # PROGRAM PATTERN
  SECKILL_TEST_ONLY=$2 timeout 200 "$copy/build/tests/integration/integration_$1" >"$copy/log" 2>&1
}

with_stack() {
  if [ -z "${SECKILL_TEST_DATABASE:-}" ]; then
    own_stack=1
    "$root/scripts/stack.sh" --dir "$copy/stack" up --with all
    eval "$("$root/scripts/stack.sh" --dir "$copy/stack" env)"
    export SECKILL_TEST_DATABASE=$SECKILL_DATABASE SECKILL_TEST_REDIS=$SECKILL_REDIS
    export SECKILL_TEST_STOCK_REDIS=$SECKILL_STOCK_REDIS SECKILL_TEST_STACK=$copy/stack
    export SECKILL_TEST_STACK_SH=$root/scripts/stack.sh
    [ -z "${SECKILL_AMQP:-}" ] || export SECKILL_TEST_AMQP=$SECKILL_AMQP
    [ -z "${SECKILL_REDLOCK:-}" ] || export SECKILL_TEST_REDLOCK=$SECKILL_REDLOCK
    [ -z "${SECKILL_MEMCACHED:-}" ] || export SECKILL_TEST_MEMCACHED=$SECKILL_MEMCACHED
    [ -z "${SECKILL_ZOOKEEPER:-}" ] || export SECKILL_TEST_ZOOKEEPER=$SECKILL_ZOOKEEPER
  fi
}

check_unchanged() {
  local i seen=' '
  for i in "${!names[@]}"; do
    case $seen in *" ${programs[i]}:${patterns[i]} "*) continue ;; esac
    seen+="${programs[i]}:${patterns[i]} "
    build "${programs[i]}" || { tail -n 20 "$copy/log"; die "the copy does not build"; }
    run_test "${programs[i]}" "${patterns[i]}" || { tail -n 20 "$copy/log"; die "red without a mutation: ${programs[i]} ${patterns[i]}"; }
    grep -q '       OK ' "$copy/log" || die "no test of ${programs[i]} is named ${patterns[i]}"
  done
}

# Which tests noticed, for the reader.
noticed() { sed -n 's/^\[  FAILED  \] \(.*[a-z].*\)/\1/p' "$copy/log" | grep -v 'test(s)' | sort -u | head -n 3 | paste -sd ';' -; }

mutate() { # INDEX
  local file=$copy/${files[$1]} result
  cp "$file" "$copy/original"
  sed -E -i "${seds[$1]}" "$file"
  if cmp -s "$file" "$copy/original"; then
    result='DOES NOT APPLY'
  elif ! build "${programs[$1]}"; then
    result='DOES NOT BUILD'
  elif run_test "${programs[$1]}" "${patterns[$1]}"; then
    result=SURVIVES
  else
    result="red: $(noticed)"
  fi
  cp "$copy/original" "$file"
  printf '%-55s %s\n' "${names[$1]}" "$result"
  case $result in red*) ;; *) failures=$((failures + 1)) ;; esac
}

main() {
  local i
  while [ $# -gt 0 ]; do
    case $1 in
      --few) few=1 ;;
      -*) die "unknown argument $1" ;;
      *) pattern=$1 ;;
    esac
    shift
  done
  read_table
  make_copy
  with_stack
  check_unchanged
  for i in "${!names[@]}"; do mutate "$i"; done
  [ $failures = 0 ] || die "$failures of ${#names[@]} mutations were not noticed"
  echo "all ${#names[@]} mutations were noticed"
}

main "$@"
