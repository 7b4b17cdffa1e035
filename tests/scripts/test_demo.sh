#!/usr/bin/env bash
# test_demo.sh SERVER LOADTEST: the last half minute of scripts/demo.sh, in a folder of its own, with programs that are
# built already: redis-token is said to have oversold while its holder stood still, by a number, and redis-fenced not to.
# And the lines of the README that take arguments, as they are typed, but shorter, and judged by rows alone: other tests
# keep the generator of the opening bell late. What --articles does is harness.articles_whole's.
set -euo pipefail

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/test-demo.XXXXXX")
trap '"$work/scripts/stack.sh" --dir "$work/.stack/demo" down --purge >/dev/null; rm -rf "$work"' EXIT # its data may be elsewhere
fail() { echo "test_demo: $*" >&2; cat "$work/out" >&2; exit 1; }

mkdir -p "$work/bin" "$work/build/release/server" "$work/build/release/loadtest"
cp -r "$checkout/scripts" "$work"
ln -s "$1" "$work/build/release/server/seckill-server"
ln -s "$2" "$work/build/release/loadtest/seckill-loadtest"
printf '#!/bin/sh\n' >"$work/bin/cmake" # there is nothing to build
chmod +x "$work/bin/cmake"

export PATH="$work/bin:$PATH"
"$work/scripts/demo.sh" --pause >"$work/out" 2>&1 || fail "exit status $?"
grep -qx 'redis-token sold [1-9][0-9]* that it did not have while its holder stood still' "$work/out" ||
  fail "redis-token has kept it"
grep -qx 'redis-fenced refused it' "$work/out" || fail "redis-fenced is not named"
! "$work/scripts/demo.sh" --pause --strategies none >"$work/out" 2>&1 || fail "it takes more"

typed() { sed -n 's/  *#.*//; /^\.\/scripts\/demo\.sh -/p' "$checkout/$1"; }
[ "$(typed README.md)" = "$(typed README.zh.md)" ] || fail "the Chinese README has other lines: $(typed README.zh.md)"
says=''
while read -r line; do
  line=${line/duration 10s/duration 1s}
  case $line in
    *--articles) continue ;;
    *--oasis) line="$line --tickets 20000" says='20,000 tickets' ;;
    *bell*) line="$line --duration 2s --max-lag-ms 60000" says='^batch  *1 .*  kept$' ;;
    *) says='^redis-queue  *3 .*  kept$' ;;
  esac
  (cd "$work" && eval "$line") >"$work/out" 2>&1 || fail "$line: exit status $?"
  grep -q "$says" "$work/out" || fail "$line"
done < <(typed README.md)
[ "$says" = '20,000 tickets' ] || fail "the README ends with another line"
[ -z "$(pgrep -f "$work/" || true)" ] || fail "left running: $(pgrep -af "$work/")"
