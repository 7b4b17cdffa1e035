#!/usr/bin/env bash
# cppcheck.sh BUILD: cppcheck over BUILD's compile database. An exception is a comment in the code,
# `cppcheck-suppress ID`, with its reason.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."

if ! command -v cppcheck >/dev/null; then
  echo "cppcheck is not installed"
  exit 77
fi
if [ ! -e "$build/compile_commands.json" ]; then
  echo "no compile_commands.json in $build: configure with a preset" >&2
  exit 1
fi

# Headers of other projects are not looked into, and cannot be missed then. The other one, of newer versions,
# says that not every branch was followed.
cppcheck --project="$build/compile_commands.json" --enable=warning,performance,portability \
  --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches --suppress="*:$build/*" \
  --inline-suppr --error-exitcode=1 --quiet -j 2
