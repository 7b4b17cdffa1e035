#!/usr/bin/env bash
# Half an hour of mixed load with faults and restarts: does everything stay right, and does nothing grow?
#
#   soak.sh [--minutes N] [--seed N] [--strategies NAME,NAME,…] [--out DIR] [--server-binary PATH]
#
# Three servers on a private PostgreSQL, two Redis and, where it is installed, RabbitMQ. In rounds of a minute recorded
# crowds (docs/JUDGING.md) buy by several strategies at once, of products with plenty and of products that sell out,
# while in an order that the seed decides PostgreSQL, the locks' Redis and redis-stock's Redis are killed and started
# again, one server is killed, and told to stop, and started again, and another is stopped for longer than a lease.
# Servers 1 and 2 live through all of it. After each round everything must have come to rest, and every ledger is
# checked against the rows.
#
# The exit status is 0 when no ledger shows a violation, each product with plenty sold again in time after each fault
# (5 s after a backend answers again; a lease and 1 s after a server was killed or told to stop, or one that was stopped
# goes on), every server that was told to stop ended with status 0, and memory, descriptors and sessions of what lives throughout stayed flat
# (soak.d/flat.awk says how that is judged; less than 10 minutes are not judged). Else 1. DIR (.stack/soak/out) keeps
# the samples, the times of the faults, the servers' logs and the ledgers that show something.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/soak.d/crowds.sh"

minutes=30 seed=1 chosen='' out=$root/.stack/soak/out
faults=(database locks stock kill stop stall)
lease_ms=2000 work_ms=1500 stall_s=3
head_s=3 slot_s=9 tail_s=8 flat_from_minutes=10 sampler=''
server_options=(--lock-ttl-ms "$lease_ms" --work-timeout-ms "$work_ms")

while [ $# -gt 0 ]; do
  case $1 in
    --minutes) [[ ${2:-} =~ ^[1-9][0-9]{0,3}$ ]] || die "--minutes takes a number from 1 to 9999"; minutes=$2 ;;
    --seed) [[ ${2:-} =~ ^[0-9]{1,9}$ ]] || die "--seed takes a number"; seed=$2 ;;
    --strategies) chosen=${2:?--strategies takes names} ;;
    --out) out=$(realpath -m "${2:?--out takes a folder}") ;;
    --server-binary) server=$(realpath "${2:?--server-binary takes a program}") ;;
    *) die "there is no $1: soak.sh [--minutes N] [--seed N] [--strategies LIST] [--out DIR] [--server-binary PATH]" ;;
  esac
  shift 2
done
[ -z "$chosen" ] || IFS=, read -r -a strategies <<<"$chosen"

end() {
  trap '' INT TERM HUP
  end_all "$sampler"
  leave_stack
}

# --- the faults ---

event() { # NAME BOUND_MS
  echo "$(now_us) $1 $2" >>"$out/events"
}

# Back is when it answers again: how long its recovery takes is not the servers' affair.
bounce() { # NAME BACKEND ANSWERS [ARGUMENT]...
  local watcher
  echo "$(now_us) $1" >>"$out/gone"
  "$stack" --dir "$stack_dir" signal "$2" KILL 8>&-
  sleep 1
  (
    trap - EXIT INT TERM HUP
    until "${@:3}"; do sleep 0.02; done
    event "$1" 5000
  ) 8>&- &
  watcher=$!
  "$stack" --dir "$stack_dir" start "$2" 8>&-
  wait $watcher
}

postgres_answers() { "$postgres/pg_isready" -q -d "$SECKILL_DATABASE"; }
redis_answers() { [ "$(timeout 2 redis-cli -s "${1#unix://}" ping 2>/dev/null)" = PONG ]; }

fault_database() { bounce database postgres postgres_answers; }
fault_locks() { bounce locks locks redis_answers "$SECKILL_REDIS"; }
fault_stock() { bounce stock stock redis_answers "$SECKILL_STOCK_REDIS"; }

fault_kill() {
  event kill $((lease_ms + 1000))
  kill -s KILL "${servers[2]}"
  wait "${servers[2]}" 2>/dev/null || true
  sleep 1
  start_server 2
}

fault_stop() {
  event stop $((lease_ms + 1000))
  stop_server 2
  start_server 2
}

# Who has no lease waits for the one that was stopped.
fault_stall() {
  local begun_us
  begun_us=$(now_us)
  kill -s STOP "${servers[1]}"
  sleep $stall_s
  kill -s CONT "${servers[1]}"
  echo "$begun_us stall $((($(now_us) - begun_us) / 1000 + lease_ms + 1000))" >>"$out/events"
}

# --- a round ---

# No fault begins so late that the load could end before its bound.
break_things() { # END_US
  local fault order at_us
  at_us=$(($(now_us) + head_s * 1000000))
  mapfile -t order < <(for fault in "${faults[@]}"; do echo "$RANDOM $fault"; done | sort -n | cut -d ' ' -f 2)
  for fault in "${order[@]}"; do
    rest_until $((at_us + RANDOM * 30))   # up to a second
    [ $(($(now_us) + slot_s * 1000000)) -le "$1" ] || { say "no time left for $fault"; return; }
    "fault_$fault"
    at_us=$((at_us + slot_s * 1000000))
    rest_until $at_us
  done
}

round() { # NUMBER
  local before=$((failures + violations))
  begin_crowds $((head_s + slot_s * ${#faults[@]} + tail_s)) $((seed * 10000 + $1 * 100)) "$1"
  break_things "$end_us"
  cat "$out/events" >>"$out/all_events"
  end_crowds
  sleep 3   # for a sample at rest
  say "round $1: $operations operations, ${#names[@]} ledgers, $((failures + violations - before)) failures"
}

# --- what must not grow ---

sample() {
  local at=$SECONDS number pid name
  for number in 1 2; do
    pid=${servers[number - 1]}
    echo "$at server-$number.memory_kib $(awk '/^RssAnon:/ { print $2 }' "/proc/$pid/status")"
    echo "$at server-$number.descriptors $(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l)"
  done
  echo "$at postgresql.sessions $("$postgres/psql" -X -q -tA "$SECKILL_DATABASE" -c "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()" 2>/dev/null)"
  for name in "locks $SECKILL_REDIS" "stock $SECKILL_STOCK_REDIS"; do
    echo "$at ${name% *}.clients $(timeout 2 redis-cli -s "${name#* unix://}" client list 2>/dev/null | grep -c '^id=')"
  done
}

sample_for_ever() {
  trap - EXIT INT TERM HUP
  while :; do
    sample >>"$out/samples" 2>/dev/null || true
    sleep 2
  done
}

judge_growth() {
  local code=0
  if [ "$minutes" -lt $flat_from_minutes ]; then
    say "memory, descriptors and sessions were sampled and not judged: that takes $flat_from_minutes minutes"
    return
  fi
  awk -f "$root/scripts/soak.d/flat.awk" "$out/samples" || code=$?
  [ $code = 0 ] || fail "something has grown, or there are too few samples ($out/samples)"
}

# redis-stock's stream: an entry that nobody has acknowledged would be an order that nobody decides.
judge_rest() {
  local waiting
  waiting=$(redis-cli -s "${SECKILL_STOCK_REDIS#unix://}" xlen '{seckill}:stock:orders')
  [ "$waiting" = 0 ] || fail "$waiting entries are left in the stream of redis-stock"
}

install_packages "${build_packages[@]}" "${run_packages[@]}"
build release seckill-server seckill-loadtest
check_strategies "$server" --strategy "$chosen"
postgres=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
with=''
[ ! -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || with=rabbitmq
if [ -z "$with$chosen" ]; then
  say "RabbitMQ is not installed: partitioned-queue is left out"
  strategies=("${strategies[@]/partitioned-queue/}")
  unset 'strategies[-1]'
fi
trap pass_on INT TERM HUP
use_stack "$root/.stack/soak" fresh ${with:+--with "$with"}
trap end EXIT
rm -rf "$out"
mkdir -p "$out"
: >"$out/samples"
: >"$out/first_sales"
RANDOM=$seed
say "seed $seed, $minutes minutes: ${strategies[*]}"
for i in 0 1 2; do start_server $i; done
sample_for_ever &
sampler=$!
number=0
until=$((SECONDS + minutes * 60))
while [ $SECONDS -lt $until ]; do
  number=$((number + 1))
  round $number
done
kill -s TERM $sampler 2>/dev/null || true
wait $sampler 2>/dev/null || true
sampler=''
judge_rest
for i in 0 1 2; do stop_server $i; done
judge_first_sales "${faults[@]}"
judge_growth
say "seed $seed, $number rounds: $failures failures, $violations ledgers with violations"
[ $((failures + violations)) = 0 ]
