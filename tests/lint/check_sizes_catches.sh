#!/usr/bin/env bash
# Proves that check_sizes.sh goes red, and only where it should.
set -euo pipefail

lint=$(cd "$(dirname "$0")" && pwd)
check=$lint/check_sizes.sh
# shellcheck source-path=SCRIPTDIR source=tree.sh
. "$lint/tree.sh"

lines() { # how many
  seq "$1" | sed 's/.*/int x;/'
}
strategy=$'const struct strategy strategy_x = {\n'

refuses "a tree without sources"
put server/strategy/strategy.h "$(lines 600)"
put server/strategies/registry.c "static const struct strategy *const strategies[] = {
$(lines 599)"
put server/strategy/x.c "$strategy$(lines 149)"
put loadtest/run.c "$(lines 600)"
put tests/unit/test_x.c "$(lines 600)"
for entry in $(seq 20); do
  put "server/sale/$entry.c" "int x;"
done
put sql/statements.sql "$(lines 601)"
mkdir "$tree/docs"
touch "$tree"/docs/{1..20}.md "$tree"/docs/{1..20}.zh.md
passes "a tree in order"

catches server/app.c "$(lines 601)"
catches server/strategy/bad.h "$(lines 601)"
catches loadtest/bad.c "$(lines 601)"
catches tests/unit/test_bad.c "$(lines 601)"
catches server/strategy/bad.c "$strategy$(lines 150)"
put server/sale/body/body.c "int x;"
refuses "a folder of 21 entries, one of which is a folder"
rm -r "$tree/server/sale/body"
mkdir -p "$tree/tests/lib"
touch "$tree"/tests/lib/{1..21}.py
refuses "a folder of 21 files of another language"
rm -r "$tree/tests/lib"
touch "$tree/docs/21.md"
refuses "a folder of 21 texts"
rm "$tree/docs/21.md"
passes "the tree in order, again"
judge
