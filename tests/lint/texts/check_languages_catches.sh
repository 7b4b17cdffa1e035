#!/usr/bin/env bash
# shellcheck disable=SC2016  # code in a table
# Proves that check_languages.py goes red when one language lacks a part that the other has.
set -euo pipefail

lint=$(cd "$(dirname "$0")" && pwd)
check=$lint/check_languages.py
# shellcheck source-path=SCRIPTDIR source=../tree.sh
. "$lint/../tree.sh"

english='# Stock

## How

| strategy | how |
| --- | --- |
| `a` | one |
| `b`, `c` | two, 1,700 of 4.5 |

## redis-token

```sh
# not a heading
| nor a table |
```

```json
{"sold": 100}
```'
chinese='# 库存

## 做法

| 策略 | 做法 |
| --- | --- |
| `a` | 一 |
| `b`、`c` | 4.5 里的 1,700，二 |

## redis-token

```sh
# 不是标题
| 也不是表 |
```

```json
{"sold": 100}
```'
translated='README docs/ARTICLES docs/FAQ docs/JUDGING docs/STRATEGIES'

refuses "a tree without the texts"
for name in $translated docs/MORE; do
  put "$name.md" "$english"
  put "$name.zh.md" "$chinese"
done
passes "a tree in order"

differs() { # what differs, English text, Chinese text
  put docs/MORE.md "$2"
  put docs/MORE.zh.md "$3"
  refuses "$1"
  put docs/MORE.md "$english"
  put docs/MORE.zh.md "$chinese"
}
differs "a section less in Chinese" "$english" "${chinese/$'## 做法\n'/}"
differs "a section less in English" "${english/$'## How\n'/}" "$chinese"
differs "a section more at the end" "$english" "$chinese"$'\n## 其他'
differs "another level" "$english" "${chinese/\## 做法/### 做法}"
differs "a strategy's heading translated" "$english" "${chinese/\## redis-token/## 令牌}"
differs "a row less" "$english" "${chinese/$'| `a` | 一 |\n'/}"
differs "a row less in English" "${english/$'| `a` | one |\n'/}" "$chinese"
differs "a column less" "$english" "${chinese/| 一 |/|}"
differs "another strategy in a row" "$english" "${chinese/\`a\`/\`d\`}"
differs "a strategy less in a row" "$english" "${chinese/、\`c\`/}"
differs "no table" "$english" "${chinese//|/}"
differs "another figure in a row" "$english" "${chinese/1,700/1,070}"
differs "a block of code less" "$english" "${chinese//\`\`\`/}"
differs "another figure in what was printed" "$english" "${chinese/100/101}"

catches docs/ALONE.zh.md "$chinese"
rm "$tree/docs/FAQ.zh.md"
refuses "a translation that is not there"
put docs/FAQ.zh.md "$chinese"
passes "the tree in order, again"
judge
