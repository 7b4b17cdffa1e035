#!/usr/bin/env bash
# Moves a product to another cell (docs/OPERATIONS.md, "Cells"): its sale ends in the one, where its orders stay, and what
# was left is on sale in the other. It is never on sale in both. Killed anywhere, or failed, it is run again as it was,
# and goes on where it was: each step can be seen in the products' rows. A map has one at a time; nobody else may PUT the
# product meanwhile.
#
#   SECKILL_ADMIN_TOKEN=… move-product.sh [--map FILE] [--reload COMMAND] [--wait SECONDS] URL PRODUCT FROM TO
#
# URL is the balancer's, FROM and TO are cells as its map names them: 01 02. FILE (products.map beside this script) gets
# the product's line, and then COMMAND has HAProxy read it. Buyers are told sale_not_open in between, while orders that
# are queued or wait to be paid come to their end, for SECONDS (600) at the most.
set -euo pipefail

die() { echo "move-product.sh: $*" >&2; exit 1; }

map=$(dirname "$0")/products.map reload='' wait_s=600
while [[ ${1:-} = --* ]]; do
  case $1 in
    --map) map=${2:?--map takes a file} ;;
    --reload) reload=${2:?--reload takes a command} ;;
    --wait) [[ ${2:-} =~ ^[0-9]{1,5}$ ]] || die "--wait takes seconds"; wait_s=$2 ;;
    *) die "there is no $1: --map FILE, --reload COMMAND, --wait SECONDS" ;;
  esac
  shift 2
done
[ $# = 4 ] || die "which product, from where to where? URL PRODUCT FROM TO"
url=${1%/} product=$2 from=$3 to=$4
[[ $product =~ ^[1-9][0-9]{0,18}$ ]] || die "a product is a number, not '$product'"
[[ $from$to =~ ^[0-9a-f]{4}$ && ${#from} = 2 && $from != "$to" ]] || die "FROM and TO are two cells, as 01 and 02"
[ -w "$map" ] || die "$map cannot be written"
exec 9>>"$map.lock"   # whose end is this script's alone, so that a killed one has let go of it
flock -n 9 || die "another one is at work on $map"

# From then on nothing is sold of it. No sale ends at that time by itself, so it is this script's mark, which the audit of
# all cells knows (loadtest/judge/witness.c).
readonly moved=2000-01-01T00:00:00

status='' body=''
call() { # CELL METHOD PATH [CURL OPTION]...: to status and body
  local answer
  answer=$(exec 9>&-; curl -sS --max-time 60 -w '\n%{http_code}' -X "$2" "$url/cells/$1/products/$product$3" \
    --config <(printf 'header = "Authorization: Bearer %s"\n' "${SECKILL_ADMIN_TOKEN:-}") "${@:4}") || die "$url does not answer"
  status=${answer##*$'\n'} body=${answer%$'\n'*}
}

expect() { # CELL METHOD PATH [CURL OPTION]...
  call "$@"
  [[ $status = 20? ]] || die "$2 in cell $1: $status $body"
}

member() { # NAME: of the body, as JSON has it
  grep -oE "\"$1\": (\"([^\"\\\\]|\\\\.)*\"|[^,}]*)" <<<"$body" | sed -n "1s/\"$1\": //p"
}

is_moved() { [[ $(member closes_at) = "\"$moved"* ]]; }

put() { # STOCK [CURL OPTION]...: in the new cell, the rest as in the body
  local name members=''
  for name in name limit_per_user opens_at closes_at hold_s; do members+=", \"$name\": $(member $name)"; done
  expect "$to" PUT '' "${@:2}" -d "{\"stock\": $1$members}"
}

# Whether the new cell has stock of it, or has had.
call "$to" GET /audit
there=$status filled='' gone=''
[[ $there =~ ^(200|404|421)$ ]] || die "the audit in cell $to: $status $body"
if [ "$there" = 200 ]; then
  [ "$(member initial_stock)$(member restocked)" = 00 ] || filled=1
  expect "$to" GET ''
  ! is_moved || gone=1
fi
expect "$from" GET ''
if ! is_moved; then
  [ -z "$filled" ] || die "cell $to has a sale of it, whose orders a new one would end: PUT its stock to 0 there, if they may go"
  put 0   # its window is there before it is closed here
  expect "$from" PATCH '' -d "{\"opens_at\": null, \"closes_at\": \"${moved}Z\"}"
elif [ "$there" != 200 ] || [ -n "$gone" ]; then
  die "it has moved away from cell $from, and is not in cell $to"
fi

if [ -z "$filled" ]; then
  end=$((SECONDS + wait_s))
  until expect "$from" GET /audit && [ "$(member queued)$(member held)" = 00 ]; do
    [ $SECONDS -lt $end ] || die "there are $(member queued) queued and $(member held) held orders: run it again later"
    sleep 0.5 9>&-
  done
  left=$(member stock)
  expect "$to" GET ''
  # Whoever has begun a sale there meanwhile keeps it.
  if [ "$(member initial_stock)" = 0 ] && [ "$left" != 0 ]; then put "$left" -H "If-Match: \"$(member epoch)\""; fi
fi

cp -p "$map" "$map.new"
{ sed "/^$product /d" "$map" && echo "$product $to"; } >"$map.new"
mv "$map.new" "$map"
if [ -n "$reload" ]; then bash -c "$reload" 9>&-; else echo "HAProxy is to read $map again: systemctl reload haproxy"; fi
