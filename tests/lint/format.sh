#!/usr/bin/env bash
# Every C file as .clang-format has it (versions 14 and 19 agree). To repair: clang-format -i FILE.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! command -v clang-format >/dev/null; then
  echo "clang-format is not installed"
  exit 77
fi
mapfile -t files < <(find server loadtest bench tests -name '*.[ch]' | sort)
[ "${#files[@]}" -gt 0 ]
clang-format --dry-run -Werror "${files[@]}"
echo "${#files[@]} files"
