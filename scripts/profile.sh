#!/usr/bin/env bash
# Where an order's time goes, strategy by strategy, while wrk buys what does not run out: CPU time and waiting for a
# core by process, and what an order costs in system calls, allocations, statements and flushes.
# Installs what is missing, builds, brings a private PostgreSQL and Redis, and stops everything again.
#
#   profile.sh [--seconds N] [--connections N] [--products N] [STRATEGY]...
#
# bench-answer is E of docs/PERFORMANCE.md, an answer without a lane. CPU and waiting are the kernel's own figures
# (/proc/PID/task/TID/schedstat), statements the server's (/metrics). System calls and allocations are counted by perf,
# each in seconds of its own, because being counted is slow. That needs root, perf (Debian: linux-perf) and tracefs;
# without, the second table has none of them.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() { sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

seconds=4 connections=256 products=1
strategies=(bench-answer batch redis-queue redis-stock conditional optimistic pessimistic redis-token)
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=${2:?--seconds takes a number}; shift 2 ;;
    --connections) connections=${2:?--connections takes a number}; shift 2 ;;
    --products) products=${2:?--products takes a number}; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    -*) die "unknown option $1; see --help" ;;
    *) break ;;
  esac
done
[ $# = 0 ] || strategies=("$@")
[[ $seconds =~ ^[1-9][0-9]{0,2}$ ]] || die "--seconds takes 1 to 999, not $seconds"
[[ $connections =~ ^[1-9][0-9]{0,3}$ ]] || die "--connections takes 1 to 9999, not $connections"
[[ $products =~ ^[1-9][0-9]{0,2}$ ]] || die "--products takes 1 to 999, not $products"

readonly first_product=1000001 stock=1000000000 lead=1   # the seconds before anything is counted
readonly work=$root/build/profile probes=seckill_profile
declare -A pids=()   # GROUP: process ids
load='' has_probes=''

# --- processes ---

# The server in the background; its address is what it says on its first line.
start_server() {
  exec 3< <(exec "$root/build/release/server/seckill-bench-server" --listen 127.0.0.1:0 2>"$work/server.log" 8>&-)
  child=$!
  local line
  read -r line <&3 || die "the server did not start: $(cat "$work/server.log")"
  url=${line#listening on }
}

stop_server() {
  kill -s TERM "$child" 2>/dev/null || true
  wait_child || true
  child=
}

start_load() { # STRATEGY
  local host=${url#http://}
  { printf 'P = {targets = {{host = "%s", port = "%s", authority = "%s"}}, path = "/orders?strategy=%s", token = "",\n' \
      "${host%:*}" "${host##*:}" "$host" "$1"
    printf '    user = 1000000000, each = 1000000000, users = 0, product = %d, products = %d, seed = 1}\n' $first_product "$products"
    cat "$root/loadtest/load/load.lua"
  } >"$work/load.lua"
  wrk -t2 -c "$connections" -d 3600 -s "$work/load.lua" "$url" >"$work/wrk.log" 2>&1 8>&- 3<&- &
  load=$!
}

find_processes() {
  pids=([server]=$child [wrk]=$load
    [postgresql]=$(psql -XAtqc 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()' "$SECKILL_DATABASE" | paste -sd ' ')
    [redis]=$("$stack" --dir "$stack_dir" status | sed -nE 's/.*: (locks|stock) runs as process //p' | paste -sd ' '))
}

# --- what is counted: lines of a name and a number that grows ---

sum_threads() { # GROUP FILE...
  local group=$1
  shift
  { cat "$@" 2>/dev/null || true; } | awk -v group="$group" '{ ran += $1; waited += $2 }
    END { printf "ran_%s %.0f\nwaited_%s %.0f\n", group, ran, group, waited }'
}

# The server's main thread is its loop.
look_at_threads() {
  local group pid files
  sum_threads loop "/proc/$child/task/$child/schedstat"
  for group in "${!pids[@]}"; do
    files=()
    for pid in ${pids[$group]}; do files+=("/proc/$pid"/task/*/schedstat); done
    sum_threads "$group" "${files[@]}"
  done
}

look_at_server() { # STRATEGY
  curl -sS --fail --max-time 10 "$url/metrics" | awk -v strategy="strategy=\"$1\"" '
    index($0, strategy) && /^seckill_orders_total/ { orders += $NF }
    index($0, strategy) && /^seckill_cost_/ && /store=/ { sub(/^seckill_cost_/, ""); sub(/_total.*/, "", $1); cost[$1] += $NF }
    END { print "orders", orders + 0; for (name in cost) print name, cost[name] }'
}

look() { # STRATEGY
  date +'at_ns %s%N'
  look_at_server "$1"
  look_at_threads
  awk '/^cpu / { print "idle", $5 + $6; print "ticks", $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 }' /proc/stat
  psql -XAtqc "SELECT 'wal ' || (pg_current_wal_lsn() - '0/0')" "$SECKILL_DATABASE"
}

grown() { awk 'NR == FNR { before[$1] = $2; next } { printf "%s %.0f\n", $1, $2 - before[$1] }' "$@"; } # BEFORE AFTER

# --- what only perf sees: events of a group's processes a second ---

count_events() { # GROUP EVENT...
  local group=$1 event events=()
  shift
  for event in "$@"; do events+=(-e "$event"); done
  as_root perf stat -x, "${events[@]}" -p "${pids[$group]// /,}" -o "$work/perf.$group" -- sleep "$seconds"
}

events_of() { # GROUP PATTERN: as often as that was seen
  awk -F, -v pattern="$2" '$3 ~ pattern { n += $1 } END { printf "%.0f\n", n }' "$work/perf.$1"
}

can_count() {
  command -v perf >/dev/null && as_root test -r /sys/kernel/tracing/events/raw_syscalls &&
    { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }
}

# perf finds them in the C library that the server has loaded.
add_probes() {
  local library function
  has_probes=yes
  library=$(awk '$NF ~ /\/libc\.so/ { print $NF; exit }' "/proc/$child/maps")
  for function in malloc calloc realloc; do
    as_root perf probe -q -f -x "$library" "$probes:$function=$function" >"$work/probe.log" 2>&1 || return 1
  done
}

drop_probes() {
  [ -n "$has_probes" ] || return 0
  as_root perf probe -q -d "$probes:*" >/dev/null 2>&1 || true
  has_probes=
}

# --- one strategy ---

# What earlier strategies have sold would be deleted meanwhile.
put_products() {
  psql -XAtq -v ON_ERROR_STOP=1 -v schema="${SECKILL_SCHEMA:-seckill}" "$SECKILL_DATABASE" <<<'TRUNCATE :"schema".orders'
  curl -sS --fail-with-body --fail-early --max-time 60 -X PUT -d "{\"stock\": $stock}" \
    "$url/products/[$first_product-$((first_product + products - 1))]" >"$work/put.log" ||
    die "the products could not be made: $(tail -n 5 "$work/put.log")"
}

# Each counting has the same seconds of its own, and the orders that were made in them.
take() { # STRATEGY
  local strategy=$1 group counters=()
  look "$strategy" >"$work/a"
  sleep "$seconds"
  look "$strategy" >"$work/b"
  grown "$work/a" "$work/b" >"$work/threads"
  can_count || return 0

  look "$strategy" >"$work/a"
  for group in server postgresql redis; do
    count_events "$group" raw_syscalls:sys_enter context-switches &
    counters+=($!)
  done
  wait "${counters[@]}"
  look "$strategy" >"$work/b"
  { grown "$work/a" "$work/b"
    for group in server postgresql redis; do
      echo "calls_$group $(events_of $group sys_enter)"
      echo "switches_$group $(events_of $group context-switches)"
    done
  } >"$work/calls"

  add_probes || return 0
  look "$strategy" >"$work/a"
  count_events server "$probes:malloc" "$probes:calloc" "$probes:realloc"
  look "$strategy" >"$work/b"
  { grown "$work/a" "$work/b"; echo "allocations $(events_of server "$probes")"; } >"$work/allocations"
  drop_probes
}

time_row() { # STRATEGY
  awk -v strategy="$1" '{ grew[$1] = $2 }
    function us(name) { return grew[name] / 1000 / grew["orders"] }
    END {
      printf "%-14s %8.0f  %6.1f %7.1f %6.1f %10.1f %6.1f  %6.1f %7.1f %10.1f %6.1f  %4.0f%%\n", strategy,
        grew["orders"] * 1e9 / grew["at_ns"], us("ran_loop"), us("ran_server") - us("ran_loop"), us("ran_wrk"), us("ran_postgresql"),
        us("ran_redis"), us("waited_loop"), us("waited_server") - us("waited_loop"), us("waited_postgresql"), us("waited_redis"),
        100 * grew["idle"] / grew["ticks"] }' "$work/threads"
}

count_row() { # STRATEGY
  awk -v strategy="$1" -v seconds="$seconds" '
    function each(count, orders, at_ns) { return orders > 0 ? sprintf("%.2f", count / seconds / (orders * 1e9 / at_ns)) : "-" }
    { grew[FILENAME, $1] = $2 }
    function counted(file, name) { return each(grew[file, name], grew[file, "orders"], grew[file, "at_ns"]) }
    function spent(name) { return sprintf("%.2f", grew["threads", name] / grew["threads", "orders"]) }
    END {
      printf "%-14s  %6s %10s %6s  %6s %10s %6s  %7s  %10s %11s %7s %7s %7s\n", strategy,
        counted("calls", "calls_server"), counted("calls", "calls_postgresql"), counted("calls", "calls_redis"),
        counted("calls", "switches_server"), counted("calls", "switches_postgresql"), counted("calls", "switches_redis"),
        counted("allocations", "allocations"),
        spent("statements"), spent("round_trips"), spent("flushes"), spent("bytes"), spent("wal") }' threads calls allocations
}

leave() {
  trap '' INT TERM HUP
  [ -z "$load" ] || kill -s TERM "$load" 2>/dev/null || true
  [ -z "$child" ] || stop_server
  drop_probes
  leave_stack
}

profile() { # STRATEGY
  rm -f "$work"/{threads,calls,allocations}
  touch "$work"/{threads,calls,allocations}
  start_server
  put_products
  start_load "$1"
  sleep $lead
  find_processes
  take "$1"
  kill -s TERM "$load" || die "wrk ended: $(cat "$work/wrk.log")"
  wait "$load" || true   # its own figures are not asked for
  load=
  stop_server
  [ "$(awk '$1 == "orders" { print $2 }' "$work/threads")" -gt 0 ] || die "nobody bought with $1: $(cat "$work/server.log")"
  time_row "$1"
  (cd "$work" && count_row "$1") >>"$work/counts"
}

install_packages "${build_packages[@]}" "${run_packages[@]}"
build release seckill-bench-server
check_strategies "$root/build/release/server/seckill-bench-server" --strategy "$(IFS=,; echo "${strategies[*]}")"
mkdir -p "$work"
: >"$work/counts"
trap pass_on INT TERM HUP
use_stack "$root/.stack/profile" fresh
trap leave EXIT
can_count || say "system calls and allocations are not counted: that needs root, perf and tracefs (mount -t tracefs nodev /sys/kernel/tracing)"
echo "$connections connections, $([ "$products" = 1 ] && echo one product || echo "$products products")"
echo
echo 'microseconds an order   CPU                                      waiting for a core                  cores'
echo 'strategy       orders/s    loop workers    wrk PostgreSQL  Redis    loop workers PostgreSQL  Redis   idle'
for strategy in "${strategies[@]}"; do profile "$strategy"; done
echo
echo 'an order                  system calls             switches of threads  allocs  statements round trips flushes   bytes     WAL'
echo 'strategy        server PostgreSQL  Redis  server PostgreSQL  Redis   server'
cat "$work/counts"
