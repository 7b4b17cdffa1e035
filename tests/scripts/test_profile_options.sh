#!/usr/bin/env bash
# profile.sh says what it takes and turns away what it does not, before it installs, builds or starts anything.
set -euo pipefail
profile=$1

expect() { # STATUS TEXT ARGUMENT...
  local status=$1 text=$2 said got=0
  shift 2
  said=$("$profile" "$@" 2>&1) || got=$?
  [ "$got" = "$status" ] || { echo "profile.sh $*: exit status $got in place of $status: $said" >&2; exit 1; }
  [[ $said == *"$text"* ]] || { echo "profile.sh $*: no word of '$text': $said" >&2; exit 1; }
}

expect 0 '[--products N] [STRATEGY]...' --help
expect 1 'unknown option --second' --second 3
expect 1 '--seconds takes 1 to 999, not 0' --seconds 0
expect 1 '--connections takes 1 to 9999, not 10000' --connections 10000
expect 1 '--products takes 1 to 999, not ten' --products ten
expect 1 '--products takes a number' --products
