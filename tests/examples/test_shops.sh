#!/usr/bin/env bash
# test_shops.sh ROOT LOADTEST SHOP [WAY]...: a shop of examples/ with its protection sells what it has, and without it
# more. Each is judged by judge.py and by seckill-loadtest, as its target file says. 77 where what it needs is not installed.
#
# Without ways the shop has backends of its own each time, and nothing is left behind; ways share a stack.
set -euo pipefail

root=$1 loadtest=$2 shop=$3
here=$(cd "$(dirname "$0")" && pwd)
stack=$root/.stack/examples/test-$shop
shared=()
shift 3
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

judged() { # kept|BROKEN ARGUMENT...
  local expected=$1 status=0 code=0
  shift
  [ "$expected" = kept ] || code=1
  # shellcheck disable=SC2016  # the words are the inner shell's
  "$root/examples/run.sh" "$shop" "${shared[@]}" "$@" -- sh -c \
    '/usr/bin/python3 "$1" "$2" "$3" || exit 3; "$4" shop "$2" --out "$5" && status=0 || status=$?; [ $status = "$6" ]' - \
    "$here/judge.py" "$root/examples/${shop%%-*}/shop.yaml" "$expected" "$loadtest" "$out/$SECONDS" $code || status=$?
  [ ! -e "$root/.stack/examples/$shop" ] || { echo "$shop left $root/.stack/examples/$shop behind" >&2; exit 1; }
  [ $status != 77 ] || exit 77
  [ $status = 0 ] || { echo "$shop $*: $expected was expected, and the exit status is $status" >&2; exit 1; }
}

if [ $# = 0 ]; then
  judged kept
  judged BROKEN --unsafe
  exit
fi
trap '"$root/scripts/stack.sh" --dir "$stack" down --purge; rm -rf "$out"' EXIT
with=()
[ "$shop" != mariadb ] || with=(--with mariadb)
"$root/scripts/stack.sh" --dir "$stack" down --purge
"$root/scripts/stack.sh" --dir "$stack" up "${with[@]}"
shared=(--stack "$stack")
for way; do
  judged kept --way "$way"
  [ "$shop" = recipes-node ] || judged BROKEN --way "$way" --unsafe   # the mistakes are in Python
done
