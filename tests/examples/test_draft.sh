#!/usr/bin/env bash
# test_draft.sh ROOT LOADTEST: the file that `shop --init` makes of a curl and of two answers of examples/flask judges that
# shop as it was made: kept with its protection, and without it BROKEN.
set -euo pipefail

root=$1
export LOADTEST=$2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out"

cat >judge.sh <<'END'
set -eu
buy() { # USER FILE: the curl of that user, and its answer
  echo "curl -i '$SHOP_URL/buy' -H 'Content-Type: application/json' -H 'Idempotency-Key: key-$1'" \
    "--data-raw '{\"product\": 1, \"user\": $1}'" >"curl.$1"
  sh "./curl.$1" >"$2" 2>/dev/null
}
set_stock() { psql -Xq "$SHOP_DATABASE" -c "DELETE FROM shop_order" -c "UPDATE shop_product SET stock = $1"; }
rm -f shop.yaml
buy 7 bought
set_stock 0
buy 8 sold-out
set_stock 100
"$LOADTEST" shop shop.yaml --init "$SHOP_URL" --curl curl.7 --bought bought --sold-out sold-out
status=0
"$LOADTEST" shop shop.yaml --out "sale$1" || status=$?
[ "$status" = "$1" ]
END
"$root/examples/run.sh" flask -- sh judge.sh 0
"$root/examples/run.sh" flask --unsafe -- sh judge.sh 1
