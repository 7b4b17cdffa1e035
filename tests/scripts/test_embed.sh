#!/usr/bin/env bash
# embed_sql.sh, wherever the checkout is: which of the two files it reads does not depend on the folder's name.
set -euo pipefail
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/schema.sql"
cp "$root"/sql/*.sql "$work/schema.sql/"
sh "$root/cmake/embed_sql.sh" "$work/schema.sql" "$work/out"
sh "$root/cmake/embed_sql.sh" "$root/sql" "$work/expected"
diff -r "$work/expected" "$work/out"
grep -q SQL_COMMIT "$work/out/sql_text.h" || { echo 'the header has no statements' >&2; exit 1; }
