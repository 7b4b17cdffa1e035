#!/usr/bin/env bash
# Every shell script, by shellcheck.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! command -v shellcheck >/dev/null; then
  echo "shellcheck is not installed"
  exit 77
fi
folders=()
for folder in .ci cmake scripts tests; do
  [ ! -d "$folder" ] || folders+=("$folder")
done
# By the first line: .ci/run and its like have no suffix.
mapfile -t files < <(grep -rIlE '^#!.*[/ ](ba|da)?sh( |$)' "${folders[@]}" | sort)
[ "${#files[@]}" -gt 0 ]
shellcheck -x -P SCRIPTDIR "${files[@]}"
echo "${#files[@]} files"
