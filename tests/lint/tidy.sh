#!/usr/bin/env bash
# tidy.sh BUILD: clang-tidy over every C file of BUILD's compile database; what it looks for is in .clang-tidy.
# One file a process: several at once gave a false report about va_list.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."

if ! command -v clang-tidy >/dev/null; then
  echo "clang-tidy is not installed"
  exit 77
fi
if [ ! -e "$build/compile_commands.json" ]; then
  echo "no compile_commands.json in $build: configure with a preset" >&2
  exit 1
fi

# Generated sources stand under the build folder and are nobody's to tidy.
mapfile -t files < <(sed -n 's/^ *"file": "\(.*\.c\)",\{0,1\}$/\1/p' "$build/compile_commands.json" |
  grep -vF "$build/" | sort -u)
[ "${#files[@]}" -gt 0 ]

# -Wno-…: the database may be gcc's, with warnings that clang does not know. On stderr clang-tidy counts what
# it found in system headers and does not show.
# max-nodes: the analyzer gives a function up at a quarter of its usual budget. `time clang-tidy -p BUILD
# loadtest/report/document/document.c` takes 5 s in place of 20.
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P 2 \
  clang-tidy -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option \
  --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=50000 2> >(
    grep -v ' warnings\{0,1\} generated\.$' >&2)
echo "${#files[@]} files"
