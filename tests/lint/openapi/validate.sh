#!/usr/bin/env bash
# docs/openapi.yaml, as a generator reads it: a validator of other people's finds nothing in it, and finds what is planted,
# an empty list of the members that must be there.
#
# Without npm, or where it fetches nothing, the test is skipped.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../../scripts/lib.sh"
kept=$root/.cache/openapi

command -v node >/dev/null || { say "there is no node"; exit 77; }
fetch_modules "$root/tests/lint/openapi" "$kept" || exit 77
planted=$(mktemp)
trap 'rm -f "$planted"' EXIT
sed 's/^  schemas:$/&\n    Planted: {type: object, required: []}/' "$root/docs/openapi.yaml" >"$planted"
if "$kept/node_modules/.bin/validate-api" "$planted" >/dev/null; then
  die "an empty \`required\` passes: this proves nothing"
fi
"$kept/node_modules/.bin/validate-api" "$root/docs/openapi.yaml"
