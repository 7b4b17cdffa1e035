#!/usr/bin/env bash
# cppcheck.sh BUILD: cppcheck over what is written by hand in BUILD's compile database (over what is generated, above all
# the report's page, it takes ten minutes). An exception is a comment in the code, `cppcheck-suppress ID`, with its
# reason.
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

# Debian 13's takes a loop that fills an array for one that may not run, and then has the array read all the same;
# and it does not see that a bool stands for a pointer that is not NULL. Debian 12's 2.10 does neither, and goes on
# looking for what was never written; from which version on it is so was not tried.
version=$(cppcheck --version)
newer=()
if [ "$(printf '%s\n' 2.11 "${version##* }" | sort -V | head -n 1)" = 2.11 ]; then
  newer=(--suppress=uninitvar --suppress=nullPointerOutOfMemory)
fi

# Headers of other projects are not looked into, and cannot be missed then; so whether there is one is not asked
# either. normalCheckLevelMaxBranches, of newer versions, says that not every branch was followed.
cppcheck --project="$build/compile_commands.json" --enable=warning,performance,portability \
  --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches -i "$build" "${newer[@]}" \
  '-D__has_include(x)=1' --inline-suppr --error-exitcode=1 --quiet
