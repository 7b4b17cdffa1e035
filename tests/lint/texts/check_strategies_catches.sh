#!/usr/bin/env bash
# shellcheck disable=SC2016  # code in a table
# Proves that strategy_tables.py --check goes red when a table is stale, and what it writes then.
set -euo pipefail

lint=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../tree.sh
. "$lint/../tree.sh"
tables=$lint/../../../scripts/strategy_tables.py
check() { "$tables" "$tree/server" --check "$1"; }
check=check

serve() { # ROW...: a server that has these strategies
  {
    echo "#!/bin/sh"
    echo "cat <<'END'"
    printf '%s\n' '| strategy | how | 做法 | needs | right if | usual |' '| --- | --- | --- | --- | --- | --- |' "$@"
    echo END
  } >"$tree/server"
  chmod +x "$tree/server"
}

holds() { # FILE TEXT
  grep -qF "$2" "$tree/$1" || miss "$1 does not hold: $2"
  cases=$((cases + 1))
}

marks='<!-- strategies: written by scripts/strategy_tables.py -->
<!-- /strategies -->'
a='| `a` | A way. | 一种做法 | postgresql | no-stall | yes |'
b='| `b` | Another way. |  | postgresql, redis | one-instance | yes |'
put docs/STRATEGIES.zh.md "$marks
## a"
put docs/STRATEGIES.md "before
$marks
after
## a"
put docs/strategies/family.md '## b'
run() { printf '{"instances":3,"phase":"speed","limit":"","strategy":"%s","committed_per_s":%s}' "$1" "$2"; }
put docs/run/results.json "{\"runs\":[$(run conditional 10),$(run b 20)]}"
serve "$a"
refuses "tables with nothing in them"
"$tables" "$tree/server" "$tree" >/dev/null
passes "what the script has written"
holds docs/STRATEGIES.md before
holds docs/STRATEGIES.md after
holds docs/STRATEGIES.md '| **[`a`](#a)** | A way. |  | no stall |'
holds docs/STRATEGIES.zh.md '| **[`a`](#a)** | 一种做法 |  | 没有停顿 |'

serve "$a" "$b"
refuses "a strategy more"
"$tables" "$tree/server" "$tree" >/dev/null
passes "the tables with it"
holds docs/STRATEGIES.md '| **[`b`](strategies/family.md#b)** | Another way. | redis | one instance | ×2.00 |'
holds docs/STRATEGIES.zh.md '| **[`a`](#a)** | 一种做法 |  | 没有停顿 |'
holds docs/STRATEGIES.zh.md '| **[`b`](strategies/family.md#b)** | Another way. | redis | 只有一个实例 | ×2.00 |'
serve "${a/no-stall/never}" "$b"
refuses "a promise less"
serve "$a" "${b/Another/A third}"
refuses "another summary"
serve "$b" "$a"
refuses "another order"
put docs/STRATEGIES.md "no marks"
refuses "a text without the marks"
judge
