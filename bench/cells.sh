#!/usr/bin/env bash
# What cells add: committed orders a second of 1, 2 and 3 of them, which share 300 products, each cell with 96 buyers, a
# fifth of a core for PostgreSQL and 0.15 for its server, by cgroups' quotas. The loads have what is left of the machine,
# so that these figures show the shape, and not the size. What 299 products sell while as many buyers want one hot
# product, in another cell. And what a cell sells, and how fast it answers, while another's PostgreSQL dies. Three rounds in
# turn: medians, the least and the most. As root.
#
#   cells.sh [STRATEGY]...     (conditional pipelined batch)
#
# Exit status 0 when N cells are at least 0.9 × N times one, 1 when not, or when a verdict is not "kept".
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/tools/quotas.sh"

cells=3 products=300 connections=96 rounds=3 duration=10s strategies=("$@")
[ $# -gt 0 ] || strategies=(conditional pipelined batch)
out=$root/.stack/bench-cells/out server=$root/build/release/server/seckill-server
loadtest=$root/build/release/loadtest/seckill-loadtest
servers=() urls=() databases=() confines=()

end() {
  local i
  trap '' INT TERM HUP
  [ ${#servers[@]} = 0 ] || { kill "${servers[@]}" 2>/dev/null && wait "${servers[@]}"; } || true
  for ((i = 1; i <= cells; i++)); do "$stack" --dir "$root/.stack/bench-cells/$i" down; done
  remove_groups
}

# PostgreSQL of a cell, which has just started, and all that it starts.
confine() { # CELL
  local folder pid
  folder=$(psql -X -tA "${databases[$1 - 1]/user=seckill/user=postgres}" -c 'SHOW data_directory')
  for pid in $(head -n 1 "$folder/postmaster.pid") $(pgrep -P "$(head -n 1 "$folder/postmaster.pid")"); do
    echo "$pid" >"${confines[$1]}/cgroup.procs"
  done
}

start_cell() { # NUMBER
  local settings line='' said=$out/server-$1
  "$stack" --dir "$root/.stack/bench-cells/$1" down --purge
  : >"$said"
  "$stack" --dir "$root/.stack/bench-cells/$1" up
  settings=$("$stack" --dir "$root/.stack/bench-cells/$1" env)
  eval "$settings"
  databases+=("$SECKILL_DATABASE")
  make_group "postgres-$1" 20000
  confines[$1]=$group
  confine "$1"
  make_group "server-$1" 15000
  (echo "$BASHPID" >"$group/cgroup.procs" && exec "$server" --listen 127.0.0.1:0 --cell "$1/$cells") >"$said" &
  servers+=($!)
  until read -r line <"$said"; do
    kill -0 "${servers[-1]}" 2>/dev/null || die "the server of cell $1 has not started"
    sleep 0.1
  done
  urls+=("${line#listening on }")
}

load() { # STRATEGY CELL PRODUCTS FIRST CONNECTIONS NAME: to loads
  local folder=$out/$1-$6-$2
  rm -rf "$folder"
  "$loadtest" run --server "${urls[$2 - 1]}" --database "${databases[$2 - 1]}" --reset --strategies "$1" --scenario spread \
    --products "$3" --first-product "$4" --connections "$5" --threads 1 --stock 10 --duration $duration --format csv \
    --out "$folder" >"$folder.csv" 2>"$folder.said" &
  loads+=($!)
}

end_loads() { # STRATEGY NAME: to rate, of those of that name together
  local pid
  for pid in "${loads[@]}"; do wait "$pid" || die "$1: $(tail -qn 3 "$out/$1-"*.said)"; done
  add_up committed_per_s "$out/$1-$2-"?.csv
  rate=$sum
}

measure() { # STRATEGY CELLS: to rate
  local i loads=()
  for ((i = 1; i <= $2; i++)); do
    load "$1" $i $((products / $2)) $((1000001 + (i - 1) * products / $2)) $connections "$2"
  done
  end_loads "$1" "$2"
}

# All products but one, in cell 2.
measure_cold() { # STRATEGY alone|beside: the one, in cell 1; to rate
  local loads=()
  [ "$2" = alone ] || load "$1" 1 1 1000001 $connections hot
  load "$1" 2 $((products - 1)) 1000002 $connections cold
  end_loads "$1" cold
}

# Half of the products, in cell 2, and in cell 1 the others, which are lost or not.
measure_beside() { # STRATEGY living|lost: to rate and p99
  local loads=()
  load "$1" 1 $((products / 2)) 1000001 $connections other
  load "$1" 2 $((products / 2)) $((1000001 + products / 2)) $connections "$2"
  [ "$2" = living ] || { sleep 4 && "$stack" --dir "$root/.stack/bench-cells/1" signal postgres KILL 8>&-; }
  wait "${loads[0]}" || [ "$2" = lost ] || die "$1: $(tail -qn 3 "$out/$1-other-1.said")"
  loads=("${loads[1]}")
  end_loads "$1" "$2"
  add_up latency_us_p99 "$out/$1-$2-2.csv"
  p99=$sum
  [ "$2" = living ] || { "$stack" --dir "$root/.stack/bench-cells/1" start postgres 8>&- && confine 1; }
}

[ "$(id -u)" = 0 ] || die "quotas need root"
install_packages "${build_packages[@]}" "${run_packages[@]}"
build release seckill-server seckill-loadtest
rm -rf "$out"
mkdir -p "$out"
exec 8>"$root/.stack/bench-cells/user"
flock -n 8 || die "another $me is at work in this checkout"
trap end EXIT
trap 'exit 130' INT TERM HUP
for ((i = 1; i <= cells; i++)); do start_cell $i 8>&-; done
declare -A rates=()
for ((round = 1; round <= rounds; round++)); do
  for strategy in "${strategies[@]}"; do
    for ((i = 1; i <= cells; i++)); do
      measure "$strategy" $i
      rates[$strategy $i]+="$rate"$'\n'
    done
    for i in alone beside; do
      measure_cold "$strategy" $i
      rates[$strategy $i]+="$rate"$'\n'
    done
    for i in living lost; do
      measure_beside "$strategy" $i
      rates[$strategy $i]+="$rate"$'\n'
      rates[$strategy $i p99]+="$p99"$'\n'
    done
  done
done
missed=0

row() { # STRATEGY WHAT KEY ONE: to median
  sort_rates "${rates[$3]}"
  printf '%-14s %-19s %12d %-13s %6s\n' "$1" "$2" "$median" "$range" \
    "$(awk "BEGIN { printf \"%.2f\", $median / ${4:-$median} }")"
}

printf '%-14s %-19s %12s %-13s %6s\n' strategy cells committed/s least-most times
for strategy in "${strategies[@]}"; do
  one=''
  for ((i = 1; i <= cells; i++)); do
    row "$strategy" $i "$strategy $i" "$one"
    one=${one:-$median}
    [ $((median * 10)) -ge $((one * 9 * i)) ] || missed=1
  done
  row "$strategy" "299 products' own" "$strategy alone" ''
  row "$strategy" "beside a hot one's" "$strategy beside" "$median"
  for i in '' ' p99'; do
    row "$strategy" "beside a cell${i:+, p99 us}" "$strategy living$i" ''
    row "$strategy" "that is lost${i:+, p99 us}" "$strategy lost$i" "$median"
  done
done
[ $missed = 0 ]
