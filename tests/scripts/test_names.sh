#!/usr/bin/env bash
# test_names.sh SERVER LOADTEST: a strategy's name that is mistyped ends each script that takes one, with status 2 and the
# name that was meant, before a stack is started. In a folder of its own, with programs that are built already.
set -euo pipefail

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/test-names.XXXXXX")
trap 'rm -rf "$work"' EXIT

mkdir "$work/bin"
cp -r "$checkout/scripts" "$work"
printf '#!/bin/sh\n' >"$work/bin/cmake" # there is nothing to build
printf '#!/bin/sh\necho a stack is started >&2\nexit 3\n' >"$work/scripts/stack.sh"
chmod +x "$work/bin/cmake"
for program in release/server/seckill-server=$1 release/server/seckill-bench-server=$1 dev/server/seckill-server=$1 \
  release/loadtest/seckill-loadtest=$2; do
  mkdir -p "$(dirname "$work/build/${program%=*}")"
  ln -s "${program#*=}" "$work/build/${program%=*}"
done

ends() { # STATUS TEXT SCRIPT ARGUMENT...
  local status=$1 text=$2 said got=0
  shift 2
  said=$(PATH="$work/bin:$PATH" "$work/scripts/$1" "${@:2}" 2>&1) || got=$?
  [ "$got" = "$status" ] || { echo "$*: exit status $got in place of $status: $said" >&2; exit 1; }
  [[ $said == *"$text"* ]] || { echo "$*: no word of '$text': $said" >&2; exit 1; }
}

meant='did you mean conditional?'
ends 2 "$meant" demo.sh --strategies none,condtional
ends 2 "$meant" demo.sh --oasis --strategy=condtional
ends 2 "$meant" faults.sh --runs 1 --strategies condtional
ends 2 "$meant" faults.sh --at-once 2 --strategies condtional --faults stall
ends 2 "$meant" faults.sh --reproduce condtional/stall
ends 2 "$meant" soak.sh --strategies batch,condtional
ends 2 "$meant" profile.sh condtional
ends 2 "$meant" test.sh --strategy condtional
ends 2 "$meant" serve.sh --default-strategy condtional
ends 2 'did you mean --work-ms?' serve.sh --work-m 5

# What there is goes on to the stack.
ends 3 'a stack is started' demo.sh --strategies all --duration 2s
ends 3 'a stack is started' faults.sh --strategies control-unflushed,batch
ends 3 'a stack is started' serve.sh --default-strategy batch
