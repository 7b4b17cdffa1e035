#!/usr/bin/env bash
# soak.sh's judges on made-up samples, ledgers and times: a leak put in on purpose is seen, a pool that fills and peaks
# that go away are not one; and a product that sold again too late, or never, is seen. And its options.
set -euo pipefail
scripts=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "$*" >&2; exit 1; }

expect() { # STATUS TEXT COMMAND...
  local status=$1 text=$2 said got=0
  shift 2
  said=$("$@" 2>&1) || got=$?
  [ "$got" = "$status" ] || fail "$*: exit status $got in place of $status: $said"
  [[ $said == *"$text"* ]] || fail "$*: no word of '$text': $said"
}

# Half an hour: 20 MB fill in the first ten minutes, rounds of load with pauses between, and so much leaks a minute.
samples() { # KIB_A_MINUTE DESCRIPTORS_A_MINUTE
  awk -v kib="$1" -v descriptors="$2" 'BEGIN {
    for (t = 0; t < 1800; t += 2) {
      filled = t < 600 ? t / 600 : 1
      busy = t % 70 < 62
      printf "%d server-1.memory_kib %d\n", t, 20000 + 20000 * filled + busy * (t * 7919 % 9000) + kib * t / 60
      printf "%d server-1.descriptors %d\n", t, 25 + t * 31 % 3 + busy * 80 + descriptors * t / 60
      print t, "postgresql.sessions", t % 70 < 10 ? "" : 20 + busy * 50
      print t, "stock.clients", t < 1500 && t % 70 < 10 ? 0 : 12 # killed, but not in the last five minutes
    }
  }'
}

flat() { samples "$@" >"$work/samples"; awk -f "$scripts/soak.d/flat.awk" "$work/samples"; }

expect 0 'flat' flat 0 0
expect 0 'server-1.memory_kib             40000      40000       +0.0     6096.0  flat' flat 0 0
expect 0 'flat' flat -500 -1
expect 1 'GROWS' flat 500 0
expect 1 'server-1.descriptors' flat 0 1
expect 2 'too few samples' awk -f "$scripts/soak.d/flat.awk" <(printf '0 a.clients 1\n1000 a.clients 1\n')
expect 2 'no bound' awk -f "$scripts/soak.d/flat.awk" <(for t in {0..99}; do echo "$t a.luck 1"; done)
expect 2 '' awk -f "$scripts/soak.d/flat.awk" /dev/null

# Two products. The database is back at 5 s and sells both 0.4 s later; after the kill at 9 s product 2 never sells; of
# the stop at 12 s the ledger's end is too near to say anything.
printf '%s\n' '5000000 database 5000' '9000000 kill 2000' '12000000 stop 3000' >"$work/events"
buy() { # OP PRODUCT AT_US END_US STATUS
  echo "{\"op\":$1,\"do\":\"buy\",\"at_us\":$3,\"user\":1,\"product\":$2,\"quantity\":1,\"strategy\":\"batch\"}"
  echo "{\"op\":$1,\"end_us\":$4,\"is\":\"ok\",\"status\":$5,\"order\":\"0193\",\"state\":\"confirmed\"}"
}
{
  printf '%s\n' '{"ledger":1,"seed":7}' '{"product":1,"stock":100}' '{"product":2,"stock":100}'
  buy 1 1 4000000 5100000 503
  buy 2 1 5150000 5200000 201
  buy 3 2 5150000 5400000 202
  buy 4 1 9100000 9200000 201
  buy 5 2 9100000 9200000 503
  buy 6 2 12900000 13000000 409
} >"$work/ledger"
first() { awk -v pauses="${pauses:-}" -f "$scripts/soak.d/first_sale.awk" "$work/events" "$work/ledger"; }
expect 0 $'database 400000 5000\nkill -1 2000' first
[ "$(first | wc -l)" = 2 ] || fail "an event after which there was no load has a line: $(first)"
pauses=1   # product 2 was sold at 5.4 s, and not by the end, at 12.9 s
expect 0 $'database 7500000 5000\nkill -1 2000' first
pauses='' # of cells: product 1's, which is in the second of two, and what the other's orders took
printf '%s\n' '5000000 cell 2000 2/2' '5000000 others 1000 !2/2' '5150000 others 1000 !1/2' >"$work/events"
expect 0 $'cell 200000 2000\nothers -1 1000\nothers 100000 1000' first

table() { printf '%s\n' "$@" | awk -f "$scripts/soak.d/first_sales_table.awk" -v rows='a b' -v columns='x'; }
expect 0 '1999' table 'a x 1999000 2000' 'b x 12000 2000'
expect 1 '2001' table 'a x 2001000 2000' 'b x 12000 2000' 'a x 5 2000'
expect 1 'never' table 'a x -1 2000' 'b x 12000 2000'
expect 2 '-' table 'a x 12000 2000'

expect 1 '--minutes takes a number' "$scripts/soak.sh" --minutes 0
expect 1 '--seed takes a number' "$scripts/soak.sh" --seed one
expect 1 'there is no --hours' "$scripts/soak.sh" --hours 1
expect 1 'there is no flood: kill freeze' "$scripts/failover.sh" --faults half,flood
expect 1 'there is no kill: redis-failover slots node' "$scripts/failover.sh" --faults slots,kill
expect 1 'there is no half: cell' "$scripts/failover.sh" --faults cell,half
expect 1 '--mode takes strict or quorum' "$scripts/failover.sh" --mode async
