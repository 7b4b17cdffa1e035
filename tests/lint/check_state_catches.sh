#!/usr/bin/env bash
# Proves that check_state.py goes red: over a small build that is in order it passes, and with one variable that can be
# written, of each kind, it fails and says which.
set -euo pipefail

check=$(cd "$(dirname "$0")" && pwd)/check_state.py
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/server/base" "$tree/build/server"
failures=0

# The source's text; compiles it, and writes the list of what was compiled.
build() {
  printf '%s\n' "$1" >"$tree/server/base/a.c"
  (cd "$tree" && cc -fPIC -c server/base/a.c -o build/server/a.o)
  printf '[{"directory": "%s", "file": "%s", "command": "cc -c a.c -o build/server/a.o"}]' \
    "$tree" "$tree/server/base/a.c" >"$tree/build/compile_commands.json"
}

expect() { # status, what it must say, known variables, text
  local status=0 said

  build "$4"
  printf '%s\n' "$3" >"$tree/known.txt"
  said=$("$check" "$tree/build" "$tree/known.txt" 2>&1) || status=$?
  if [ "$status" -ne "$1" ] || [[ $said != *"$2"* ]]; then
    echo "of '$4' with '$3' known: $status, $said" >&2
    failures=$((failures + 1))
  fi
}

constants='static const int n = 1; static const char *const names[] = {"a", "b"}; const char *f(int i)
{ return names[i + n]; }'
expect 0 "1 files, 0" "" "$constants"
expect 1 "is the process's" "" "static int bad; int f(void) { return bad++; }"
expect 1 "is the process's" "" "static int bad = 1; int f(void) { return bad++; }"
expect 1 "is the process's" "" "int f(void) { static int bad; return bad++; }"
expect 1 "is the process's" "" "static _Thread_local int bad; int f(void) { return bad++; }"
expect 1 "is the process's" "" "int bad = 1;"
expect 1 "is the process's" "" 'static const char *bad = "a"; const char **f(void) { return &bad; }'
expect 0 "1 files, 0" "server/base/a.c good  its reason" "static int good; int f(void) { return good++; }"
expect 1 "any more" "server/base/a.c good  its reason" "$constants"
rm "$tree/build/compile_commands.json"
echo '[]' >"$tree/build/compile_commands.json"
if "$check" "$tree/build" "$tree/known.txt" >/dev/null 2>&1; then
  echo "a build without objects passes" >&2
  failures=$((failures + 1))
fi
echo "10 builds, $failures judged wrongly"
[ "$failures" -eq 0 ]
