#!/usr/bin/env bash
# check_listed.sh [ROOT]: every test_*.c below tests/ (.py, .sh) is named in its folder's CMakeLists.txt. One that is not,
# is never built, and nothing else would tell.
set -euo pipefail

root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$root"
files=0
broken=0

while IFS= read -r file; do
  files=$((files + 1))
  last=${file##*/}
  name=${last#test_}
  name=${name%.*}
  # By its name, or as the first argument of a function: seckill_unit_test(NAME …).
  if ! sed 's/#.*//' "$(dirname "$file")/CMakeLists.txt" 2>/dev/null |
    grep -E "[(/ ]${last//./\\.}([^a-z_.]|\$)|\\(${name}[ )]" >/dev/null; then
    echo "$file: not named in $(dirname "$file")/CMakeLists.txt: never run" >&2
    broken=$((broken + 1))
  fi
done < <(find tests -name 'test_*.*' 2>/dev/null | sort)

if [ "$files" -eq 0 ]; then
  echo "no tests under $root: nothing was checked" >&2
  exit 1
fi
echo "$files tests, $broken that are never run"
[ "$broken" -eq 0 ]
