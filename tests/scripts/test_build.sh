#!/usr/bin/env bash
# Two scripts that build the same tree take turns: else one reads what the other has half written.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/scripts"
cp "$1/lib.sh" "$work/scripts"
cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(alone NONE)
add_custom_target(alone ALL COMMAND mkdir at-work COMMAND sleep 1 COMMAND rmdir at-work)
END
cat >"$work/CMakePresets.json" <<'END'
{"version": 6, "configurePresets": [{"name": "tree", "generator": "Ninja", "binaryDir": "${sourceDir}/build/tree"}]}
END

builders=()
for _ in 1 2 3; do
  # shellcheck source=../../scripts/lib.sh
  (source "$work/scripts/lib.sh"; build tree) &
  builders+=($!)
done
for builder in "${builders[@]}"; do wait "$builder"; done
