#!/usr/bin/env bash
# What redis-stock's streams add on a Redis Cluster: orders a second of 100 products in one stream and in three, one a
# primary, each primary with a twentieth of a core, by cgroups' quotas. All else has what is left of the machine, so that
# these figures show the shape, and not the size. Three rounds in turn: medians, the least and the most. As root.
#
#   streams.sh
#
# Exit status 0 when three are at least 0.9 x 3 times one, 1 when not.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/tools/quotas.sh"

rounds=3
build=$root/build/release out=$root/.stack/bench-streams/out
server=''

end() {
  trap '' INT TERM HUP
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server"; } || true
  "$stack" --dir "$root/.stack/bench-streams" down
  remove_groups
}

measure() { # STREAMS: to rate; the server takes the stock over from the one before it
  local line='' said=$out/server-$1 folder=$out/streams-$1
  : >"$said"
  "$build/server/seckill-server" --listen 127.0.0.1:0 --stock-redis "$SECKILL_CLUSTER" --stock-streams "$1" \
    --pg-sessions 48 >"$said" 2>"$said.err" &
  server=$!
  until read -r line <"$said"; do
    kill -0 "$server" 2>/dev/null || die "the server has not started"
    sleep 0.1
  done
  rm -rf "$folder"
  "$build/loadtest/seckill-loadtest" run --server "${line#listening on }" --database "$SECKILL_DATABASE" --reset \
    --strategies redis-stock --scenario spread --products 100 --connections 256 --threads 1 --stock 10 --duration 10s \
    --format csv --out "$folder" >"$folder.csv" 2>"$folder.said" || die "$1 streams: $(tail -n 3 "$folder.said")"
  { kill "$server" && wait "$server"; } || true
  server=''
  add_up committed_per_s "$folder.csv"
  rate=$sum
}

[ "$(id -u)" = 0 ] || die "quotas need root"
install_packages "${build_packages[@]}" "${run_packages[@]}"
build release seckill-server seckill-loadtest
mkdir -p "$out"
exec 8>"$root/.stack/bench-streams/user"
flock -n 8 || die "another $me is at work in this checkout"
trap end EXIT
trap 'exit 130' INT TERM HUP
"$stack" --dir "$root/.stack/bench-streams" down --purge
"$stack" --dir "$root/.stack/bench-streams" up --with cluster 8>&-
settings=$("$stack" --dir "$root/.stack/bench-streams" env)
eval "$settings"
for node in 1 2 3; do
  make_group "node-$node" 1000 20000 # in a longer period a node serves all that waits, and has nothing to do
  redis-cli -s "$root/.stack/bench-streams/data/run/cluster$node.sock" info server |
    sed -n 's/^process_id:\([0-9]*\).*/\1/p' >"$group/cgroup.procs"
done
declare -A rates=() medians=()
for ((round = 1; round <= rounds; round++)); do
  for streams in 1 3; do
    measure $streams
    rates[$streams]+="$rate"$'\n'
  done
done
printf '%7s %12s %-13s\n' streams committed/s least-most
for streams in 1 3; do
  sort_rates "${rates[$streams]}"
  medians[streams]=$median
  printf '%7d %12d %-13s\n' $streams "$median" "$range"
done
[ $((medians[3] * 10)) -ge $((medians[1] * 27)) ]
