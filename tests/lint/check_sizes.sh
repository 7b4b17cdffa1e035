#!/usr/bin/env bash
# check_sizes.sh [ROOT]: no C file over 600 lines, and none that holds a strategy (its `const struct strategy`)
# over 150: what is longer has a second job, which wants a file of its own. No folder with more than 20 entries: a list
# that long no longer says what the room is for. A translation counts with its text.
set -euo pipefail

root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$root"
files=0
broken=0

while IFS= read -r file; do
  files=$((files + 1))
  most=600
  ! grep -qE '^const struct strategy [a-z_]+ = \{' "$file" || most=150
  lines=$(wc -l <"$file")
  if [ "$lines" -gt "$most" ]; then
    echo "$file: $lines lines, of $most at the most" >&2
    broken=$((broken + 1))
  fi
done < <(find server loadtest bench tests -name '*.[ch]' 2>/dev/null | sort)

while read -r entries folder; do
  if [ "$entries" -gt 20 ]; then
    echo "$folder: $entries entries, of 20 at the most" >&2
    broken=$((broken + 1))
  fi
done < <(find bench cmake docker docs examples loadtest lua ops scripts server sql tests -mindepth 1 -not -path '*/__pycache__*' -not -name '*.zh.md' \
  -printf '%h\n' 2>/dev/null | sort | uniq -c)

if [ "$files" -eq 0 ]; then
  echo "no sources under $root: nothing was checked" >&2
  exit 1
fi
echo "$files files, $broken files or folders too long"
[ "$broken" -eq 0 ]
