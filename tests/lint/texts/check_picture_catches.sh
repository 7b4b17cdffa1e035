#!/usr/bin/env bash
# check_picture_catches.sh: proves that `picture.py --check` goes red when picture, data, table or README do
# not fit one another, that it mends the picture, and that the picture is XML.
set -euo pipefail

root=$(cd "$(dirname "$0")/../../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

fresh() {
  rm -rf "$tree" && mkdir -p "$tree/docs/run"
  cp "$root"/README.md "$root"/README.zh.md "$tree"
  cp "$root"/docs/{RESULTS,STRATEGIES}.md "$tree/docs"
  cp "$root"/docs/run/results.json "$root"/docs/run/rates.svg "$tree/docs/run"
}

# catches FILE FROM TO WORDS: red with these words when the text FROM is TO in the file.
catches() {
  fresh
  grep -q -- "$2" "$tree/$1" || { echo "$1 has no $2" >&2; exit 1; }
  sed -i "s|$2|$3|" "$tree/$1"
  if said=$(python3 "$root/scripts/picture.py" --check "$tree"); then
    echo "not caught: $1, $2 as $3" >&2
    exit 1
  fi
  grep -qF -- "$4" <<<"$said" || { echo "$said" >&2; exit 1; }
}

catches docs/run/rates.svg '3495' '9999' 'rates.svg is not what is drawn'
catches docs/run/results.json '"committed_per_s": 3503.736414' '"committed_per_s": 9503.736414' 'conditional, 1 instances'
catches docs/RESULTS.md ' 3495 ±9         0' ' 3496 ±9         0' 'conditional, 1 instances'
catches README.zh.md '(docs/run/rates.svg)' '(docs/other.svg)' 'README.zh.md does not show'
python3 "$root/scripts/picture.py" "$tree" >/dev/null && exit 1 # the README is still wrong
fresh
: >"$tree/docs/run/rates.svg"
python3 "$root/scripts/picture.py" "$tree"
cmp "$tree/docs/run/rates.svg" "$root/docs/run/rates.svg"
python3 -c 'import sys, xml.dom.minidom as m; assert m.parse(sys.argv[1]).documentElement.tagName == "svg"' "$tree/docs/run/rates.svg"
