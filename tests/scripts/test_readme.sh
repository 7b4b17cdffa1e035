#!/usr/bin/env bash
# test_readme.sh SERVER LOADTEST: lines of the README that no other test types, as they are typed, with programs that are
# built already: a shop that is judged, and the service on the reader's own PostgreSQL and Redis, which are the tests'
# here. test_serve.sh and test_demo.sh have the other lines.
set -euo pipefail

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
/usr/bin/python3 -c 'import flask, psycopg2' 2>/dev/null || { echo "skipped: python3-flask or python3-psycopg2 is not installed"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/test-readme.XXXXXX")
serving=''
finish() {
  [ -z "$serving" ] || { kill "$serving" 2>/dev/null && wait "$serving" 2>/dev/null; } || true
  rm -rf "$work"
}
trap finish EXIT
fail() { echo "test_readme: $*" >&2; cat "$work/out" >&2; exit 1; }

mkdir -p "$work/bin" "$work/build/release/loadtest"
cp -r "$checkout/scripts" "$checkout/examples" "$work"
cp "$1" "$2" "$work/bin"
ln -s "$2" "$work/build/release/loadtest/seckill-loadtest"
# There is nothing to build; what is asked for must be one of the presets.
cat >"$work/bin/cmake" <<END
#!/bin/sh
for preset; do :; done
case "\$*" in *--preset\ *) grep -qF "\"\${preset}\"" '$checkout/CMakePresets.json' ;; esac
END
printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
chmod +x "$work/bin/cmake" "$work/bin/sudo"
export PATH="$work/bin:$PATH" SECKILL_SCHEMA=readme_test SECKILL_SYSTEM_NAME=readme_test

typed() { sed -nE 's/  +#.*//; /^(examples\/run\.sh|cmake|seckill-server|seckill-loadtest) /p' "$checkout/$1"; }
[ "$(typed README.md)" = "$(typed README.zh.md)" ] || fail "the Chinese README has other lines: $(typed README.zh.md)"

serve() { # LINE: a server that is ready, and stops when it is told
  eval "$1" >"$work/out" 2>&1 &
  serving=$!
  for _ in $(seq 600); do
    ! grep -q '^listening on ' "$work/out" || break
    kill -0 $serving 2>/dev/null || fail "it has ended"
    sleep 0.1
  done
  curl -sS --fail --max-time 10 --retry 60 --retry-delay 1 --retry-all-errors "$(sed -n 's/^listening on //p' "$work/out")/readyz" >"$work/ready" || fail "it is not ready"
  kill $serving
  wait $serving || fail "exit status $?"
  serving=''
}

lines=0
while read -r line; do
  line=${line/0.0.0.0:8080/127.0.0.1:0} line=${line/\'host=db dbname=shop user=seckill\'/\"\$SECKILL_TEST_DATABASE\"}
  line=${line/redis:\/\/cache:6379\/0/\$SECKILL_TEST_REDIS}
  line=${line/--strategies all/--strategies conditional,redis-queue --duration 1s --out $work/results}
  lines=$((lines + 1)) code=0 expected=0 says=''
  case $line in
    *--unsafe*) expected=1 says='^BROKEN' ;;
    *--strategies*) says='^redis-queue  *3 .*  kept$' ;;
  esac
  cd "$work"
  case $line in
    seckill-server*) serve "exec $line" ;;
    *) eval "$line" >"$work/out" 2>&1 </dev/null || code=$? ;;
  esac
  [ $code = $expected ] || fail "$line: exit status $code"
  [ -z "$says" ] || grep -q "$says" "$work/out" || fail "$line"
done < <(typed README.md)
[ $lines = 4 ] || fail "the README has $lines such lines, not 4"
[ -z "$(pgrep -f "$work/" || true)" ] || fail "left running: $(pgrep -af "$work/")"
