#!/usr/bin/env bash
# failover.sh: what a failover of cluster.sh's costs recorded buyers. With a synchronous standby a primary is cut off from
# the other nodes, another one stands still until it has been replaced and then wakes, and one hands over: each ledger is
# judged on the primary that there is then, and nothing may be lost. The control is the same cut with an asynchronous
# standby, which must lose orders that were answered 201: else the cut has hit nobody.
#
# Some four minutes. Exit status: 0 as it should be, 1 not, 2 it cannot be seen here (no root, no namespaces).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

server=$root/build/release/server/seckill-server loadtest=$root/build/release/loadtest/seckill-loadtest
work=$(mktemp -d "${TMPDIR:-/tmp}/failover.XXXXXX")
servers=() urls=''

cluster() { "$root/scripts/cluster.sh" --dir "$work/cluster" "$@"; }

fail() { echo "failover.sh: line ${BASH_LINENO[0]}: $*" >&2; tail -n 5 "$work"/*.log "$work"/cluster/*.log >&2; exit 1; }

stop_servers() {
  local pid
  for pid in "${servers[@]}"; do { kill "$pid" && wait "$pid"; } 2>/dev/null || true; done
  servers=()
}

finish() {
  stop_servers
  cluster down
  rm -rf "$work"
}
trap finish EXIT

start() { # MODE
  local number said settings code=0
  cluster up --mode "$1" || code=$?
  [ $code = 0 ] || exit $code
  settings=$(cluster env)
  eval "$settings"
  urls=''
  for number in 1 2; do
    said=$work/server-$number.said
    : >"$said"
    "$server" --listen 127.0.0.1:0 >"$said" 2>>"$work/server-$number.log" &
    servers+=($!)
    for _ in $(seq 600); do [ ! -s "$said" ] || break; sleep 0.1; done
    [ -s "$said" ] || fail "server $number does not start"
    urls+=,$(sed 's/^listening on //' "$said")
  done
  urls=${urls#,}
}

# Nobody else is the primary while one is asked for: it is another node's when it has changed.
wait_for_another() { # NODE
  local end=$((SECONDS + 120)) now
  until now=$(cluster primary 2>/dev/null) && [ "$now" != "$1" ]; do
    [ $SECONDS -lt $end ] || fail "$1 is not replaced"
    sleep 0.2
  done
}

# Two strategies at once; more seconds of it than a failover takes, so that there are sales before and after.
under_load() { # NAME SECONDS COMMAND...
  local name=$1 strategy first=1000001 pids=() url
  for url in ${urls/,/ }; do
    curl -fsS -o /dev/null --retry 60 --retry-delay 1 --retry-all-errors --noproxy '*' "$url/readyz" || fail "$url is not ready"
  done
  for strategy in conditional batch; do
    "$loadtest" record --server "$urls" --reset --strategy "$strategy" --products 2 --stock 1000000 --users 2000 \
      --first-product $first --connections 8 --duration "$2s" --out "$work/$name-$strategy" >"$work/$name-$strategy.log" 2>&1 &
    pids+=($!)
    first=$((first + 2))
  done
  sleep 4
  "${@:3}"
  for pid in "${pids[@]}"; do wait "$pid" || fail "$name: recording ended with $?"; done
}

replaced() { # half|freeze
  local node
  node=$(cluster primary)
  cluster "$1" "$node"
  wait_for_another "$node"
  cluster heal "$node"
}

judge() { # NAME WANTED: check's exit status for one strategy or the other
  local strategy code worst=0
  for strategy in conditional batch; do
    code=0
    "$loadtest" check "$work/$1-$strategy/ledger.jsonl" >"$work/$1-$strategy.checked.log" 2>&1 || code=$?
    [ $code -le 1 ] || fail "$1, $strategy: not judged: $(tail -n 1 "$work/$1-$strategy.checked.log")"
    [ $code -le $worst ] || worst=$code
  done
  [ $worst = "$2" ] || fail "$1: $worst in place of $2"
  say "$1: $([ $worst = 0 ] && echo 'nothing lost' || echo 'lost, as the control must')"
}

build release seckill-server seckill-loadtest
start strict
for fault in half freeze; do
  under_load $fault 50 replaced $fault
  judge $fault 0
done
under_load switchover 15 cluster switchover
judge switchover 0
stop_servers
cluster down
[ ! -e "$work/cluster" ] || fail "down leaves $(ls "$work/cluster")"

start async
under_load control 50 replaced half
judge control 1
grep -h '^  [A-Z]' "$work"/control-*.checked.log
for node in n1 n2 n3; do cluster kill $node; done
stop_servers
cluster down
[ -z "$(ip netns list | grep -F "$(printf '%s' "$work/cluster" | cksum | cut -c 1-6)" || true)" ] || fail "namespaces are left"
