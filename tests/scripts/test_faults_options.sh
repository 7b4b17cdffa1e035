#!/usr/bin/env bash
# faults.sh's own option: what it takes, and what it is not for, is said before anything is built.
set -euo pipefail
faults=$1

refused() { # TEXT OPTION...
  local text=$1 said
  shift
  if said=$("$faults" "$@" 2>&1); then
    echo "faults.sh $*: not refused: $said" >&2
    exit 1
  fi
  [[ $said == *"$text"* ]] || { echo "faults.sh $*: no word of '$text': $said" >&2; exit 1; }
}

refused '--at-once takes a number of stacks, 1 to 99' --at-once
refused '--at-once takes a number of stacks, 1 to 99' --at-once 0
refused '--at-once takes a number of stacks, 1 to 99' --at-once 100
refused '--at-once is for whole columns: not with --short' --at-once 2 --short
refused '--at-once is for whole columns: not with --reproduce' --at-once 2 --runs 1 --reproduce redis-token/forget
refused '--at-once is for whole columns: not with --fail-if' --at-once 2 --fail-if 'p99>5s'
refused '--faults takes columns' --at-once 2 --faults
refused '--out takes a folder' --at-once 2 --out
