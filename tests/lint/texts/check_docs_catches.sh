#!/usr/bin/env bash
# shellcheck disable=SC2016  # code in a text
# Proves that check_docs.py goes red, for each kind of name that it looks for.
set -euo pipefail

lint=$(cd "$(dirname "$0")" && pwd)
check=$lint/check_docs.py
# shellcheck source-path=SCRIPTDIR source=../tree.sh
. "$lint/../tree.sh"

architecture() { # a line more
  printf '%s\n' '# A' '1. [server/main.c](../server/main.c)' '2. [sql/statements.sql](../sql/statements.sql)' \
    '## The rooms' "| \`server/base\` | clocks | |" "$1"
}

refuses "a tree without docs/ARCHITECTURE.md"
put server/main.c '/* The program: base/clock.h, sql/statements.sql, microhttpd.h. */'
put server/base/clock.h '/* clock.h */'
put sql/statements.sql '-- base/clock.h'
put README.md '[A](docs/ARCHITECTURE.md#the-rooms), [here](#there), [web](https://example.org/x.md)
## There'
put docs/ARCHITECTURE.md "$(architecture '')"
put server/base/flags.c 'struct option rows[] = {{.flag = "work-ms"}, OPTION_ROW("rate", 5), {"works"}};'
put scripts/run.sh 'case $1 in --all) ;; esac'
put tests/unit/test_it.c 'static void a_buyer_is_not_lost(void **state) { give("--works"); }'
put docs/USE.md '`--work-ms 5`, `git log --oneline`, `a_buyer_is_not_lost`
```sh
./scripts/run.sh --all   # not --this
seckill-loadtest run --rate 5
```'
passes "a tree in order"

catches docs/NOTES.md '`a_buyer_is_never_lost`'
catches docs/NOTES.md 'with `--works`'
catches docs/NOTES.md '`./scripts/gone.sh`'
catches docs/NOTES.md '```sh
./scripts/run.sh --every
```'
catches docs/NOTES.md '`seckill-server --strategie`'

catches NOTES.md '[B](docs/NOWHERE.md)'
catches NOTES.md '[B](docs/ARCHITECTURE.md#nowhere)'
catches docs/NOTES.md '[B](#nowhere)'
catches server/base/bad.c '/* as in base/watch.h */'
catches server/base/bad.h '/*
 * see strategies.md
 */'
catches sql/bad.sql '-- clock.c'
catches tests/bad.sh '# server/clock.c'

for line in "| \`server/nowhere\` | nothing | |" '3. [server/main.c](../server/main.c)'; do
  put docs/ARCHITECTURE.md "$(architecture "$line")"
  refuses "ARCHITECTURE with ${line:0:40}"
done
put docs/ARCHITECTURE.md "$(architecture '')"
put server/order/order.h ''
refuses "a room without a row"
rm "$tree/server/order/order.h"

passes "the tree in order, again"
judge
