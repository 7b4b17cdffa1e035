# Part of failover.sh: its faults of Redis, of which PostgreSQL hears nothing. The locks of all strategies and redis-stock
# are in one Redis with a replica and a Sentinel (redis-failover), or in a Redis Cluster (slots, node), all of them
# stack.sh's.
#
# redis-failover: the primary loses its replica and the Sentinel, while the servers still reach it, and somebody holds
# redis-stock's rows. So the Sentinel promotes a replica that is behind, server 3 is started anew and sells there, and
# only then the old primary dies. What it alone had is gone: locks that are held, and reservations that nobody could
# write into PostgreSQL. What only a Sentinel and a replica say to it is forbidden there.
# slots: the slot of every lock, and of the stock, goes to the next primary and the next, all the time. node: a primary
# loses its replica in the same way and is killed, and the replica takes over by itself.
#
# A strategy whose promise covers the fault (GET /strategies) may show nothing. redis-token has to: a lock is granted
# twice. And, in a control of each failover, redis-stock without --stock-redis-replicas.
# shellcheck shell=bash disable=SC2034,SC2154  # failover.sh's

strategies=(redis-setnx redis-getset redis-expiry redis-uuid redis-token redis-reentrant redis-watchdog redis-fenced wllock
  redis-queue redis-stock)
declare -A port=() id=() owner=() reds=()
primary=stock masters=()

tell() { timeout 10 redis-cli -e -s "$sockets/$1.sock" "${@:2}"; } # SERVER WORDS
is_like() { [[ $("${@:2}" 2>/dev/null) == $1 ]]; }   # PATTERN COMMAND...

await() { # WHAT COMMAND...
  local end=$((SECONDS + 120))
  until "${@:2}" >/dev/null; do
    [ $SECONDS -lt $end ] || die "$1 has not come; the logs are in $stack_dir"
    sleep 0.05
  done
}

# --- a Redis, its replica and a Sentinel ---

write_down() { tell "$1" config set appendonly yes appendfsync always hz 10 repl-diskless-sync-delay 0 >/dev/null; } # SERVER

# It takes a port that was free, and has it again after a restart.
join() { # SERVER [PRIMARY]
  write_down "$1"
  if [ -n "${port[$1]:-}" ]; then
    await "the port of $1" tell "$1" config set port "${port[$1]}"
  else
    until tell "$1" config set port $((port[$1] = 20000 + RANDOM % 12000)) >/dev/null 2>&1; do :; done
  fi
  [ $# = 1 ] || tell "$1" replicaof 127.0.0.1 "${port[$2]}" >/dev/null
}

follows() { is_like '*master_link_status:up*' tell "$1" info replication; } # SERVER
leads() { is_like 'master*' tell "$1" role; } # SERVER
is_named() { is_like "*${port[$1]}" tell sentinel sentinel get-master-addr-by-name seckill; } # SERVER

watch_pair() {
  local setting
  join stock
  join replica stock
  await "the replica" follows replica
  tell sentinel sentinel monitor seckill 127.0.0.1 "${port[stock]}" 1 >/dev/null
  for setting in 'down-after-milliseconds 1000' 'failover-timeout 5000'; do
    # shellcheck disable=SC2086  # two words
    tell sentinel sentinel set seckill $setting >/dev/null
  done
  await "the Sentinel's replica" is_like '*flags*slave*' tell sentinel sentinel replicas seckill
}

lose_replicas() { # SERVER WORDS: of ACL
  tell "$1" acl setuser default -replconf -psync -sync "${@:2}" >/dev/null
  tell "$1" client kill type replica >/dev/null
}

note_stock() { echo "$(now_us) $1" >>"$out/gone"; } # stock (goes), back (is there again)

lose_primary() {
  local old=$primary new=stock
  [ $old = replica ] || new=replica
  hold_rows
  lose_replicas $old -ping
  await "a promotion" leads $new
  await "the Sentinel's word" is_named $new
  stop_server 2
  start_server 2 7>&-
  sleep 0.$((RANDOM % 10))
  note_stock stock
  "$stack" --dir "$stack_dir" signal $old KILL 8>&-
  note_stock back
  sleep 0.$((RANDOM % 10))
  let_rows_go
  count_accepted
  "$stack" --dir "$stack_dir" start $old 8>&-
  join $old $new
  await "the old primary as a replica" follows $old
  primary=$new
  export SECKILL_STOCK_REDIS=unix://$sockets/$new.sock   # for check
}

# As an operator does: a lock without a lease may have come to the replica, and nothing after it.
delete_stuck() {
  local name key
  for name in $primary $(cut -d ' ' -f 1 "$stack_dir/cluster.access"); do
    for key in $(tell "$name" keys 'seckill:lock:*'); do tell "$name" del "$key" >/dev/null 2>&1 || true; done   # a replica may not
  done
}

# As a long report does. redis-stock's writer leaves their orders for later.
hold_rows() {
  local i products=0
  for i in "${!strategies[@]}"; do
    [ "${strategies[i]}" != redis-stock ] || products=$(seq -s , $((1000001 + 4 * i)) $((1000004 + 4 * i)))
  done
  exec 7> >(exec psql -X -q -o /dev/null "$SECKILL_DATABASE" 8>&-)
  echo "BEGIN; SELECT id FROM seckill.product WHERE id IN ($products) FOR UPDATE;" >&7
}

let_rows_go() { exec 7>&-; }   # nobody else has that end

count_accepted() {
  local accepted
  [[ " ${strategies[*]} " == *" redis-stock "* ]] || return 0
  accepted=$(cat "$out"/*-redis-stock-*/ledger.jsonl | grep -c '"status":202' || true)
  say "redis-stock has answered 202 $accepted times"
  [ "$accepted" -gt 0 ] || fail "no 202 was there to be lost"
}

# --- a Redis Cluster ---

read_masters() {
  local name place
  masters=()
  while read -r name place _; do
    port[$name]=$place
    if leads "$name"; then masters+=("$name") id[$name]=$(tell "$name" cluster myid); fi
  done <"$stack_dir/cluster.access"
  [ ${#masters[@]} = 3 ]
}

lock_of() { # STRATEGY
  case $1 in redis-fenced) echo redis-token ;; redis-queue) echo redis-fair ;; *) echo "$1" ;; esac
}

# owner[SLOT] of all locks that the crowds take, and of the stock. A node says where a key is that is not its own: two of three say it all.
read_owners() {
  local i product keys=() slot place name
  owner=()
  await "a cluster of three primaries" read_masters
  for i in "${!strategies[@]}"; do
    if [ "${strategies[i]}" = redis-stock ]; then
      keys+=('{seckill}:stock')
      continue
    fi
    for product in $(seq $((1000001 + 4 * i)) $((1000004 + 4 * i))); do
      keys+=("seckill:lock:$(lock_of "${strategies[i]}"):$product")
    done
  done
  while read -r _ slot place; do
    for name in "${masters[@]}"; do [ "${port[$name]}" != "${place##*:}" ] || owner[$slot]=$name; done
  done < <(for name in "${masters[@]:0:2}"; do printf 'type %s\n' "${keys[@]}" | redis-cli -s "$sockets/$name.sock"; done | grep '^MOVED ')
}

# How often servers were sent elsewhere.
redirections() {
  local name
  for name in "${masters[@]}"; do tell "$name" info errorstats; done | awk -F '[=\r]' '/_(MOVED|ASK):/ { n += $2 } END { print n + 0 }'
}

move_slot() { # SLOT: to the next primary. The third hears of it from these two.
  local keys i=0 from=${owner[$1]} to
  until [ "${masters[i]}" = "$from" ]; do i=$((i + 1)); done
  to=${masters[(i + 1) % 3]}
  tell "$to" cluster setslot "$1" importing "${id[$from]}"
  keys=$(printf 'cluster %s\n' "setslot $1 migrating ${id[$to]}" "getkeysinslot $1 100" | tell "$from" | grep -v '^OK$' || true)
  while [ -n "$keys" ]; do
    # shellcheck disable=SC2086  # a key a word
    tell "$from" migrate 127.0.0.1 "${port[$to]}" '' 0 5000 keys $keys
    keys=$(tell "$from" cluster getkeysinslot "$1" 100)
  done
  for i in "$to" "$from"; do tell "$i" cluster setslot "$1" node "${id[$to]}"; done
  owner[$1]=$to
}

move_slots() {
  local before end moves=0 slot
  read_owners
  before=$(redirections)
  end=$((SECONDS + 10))
  while [ $SECONDS -lt $end ]; do
    for slot in "${!owner[@]}"; do move_slot "$slot" >/dev/null; done
    moves=$((moves + ${#owner[@]}))
  done
  before=$(($(redirections) - before))
  say "$moves slots moved, and servers were sent elsewhere $before times"
  [ $before -ge ${#owner[@]} ] || fail "the moves have met hardly anybody"
}

kill_master() { # NUMBER: one of those that have something, the stock's own every other time
  local old owners
  read_owners
  mapfile -t owners < <(printf '%s\n' "${owner[@]}" | sort)
  old=${owners[$1 % ${#owners[@]}]}
  if (($1 % 2)); then old=${owner[$(tell cluster1 cluster keyslot '{seckill}:stock')]:-$old}; fi
  hold_rows
  lose_replicas "$old"
  sleep 0.$((RANDOM % 10))
  note_stock stock
  "$stack" --dir "$stack_dir" signal "$old" KILL 8>&-
  await "another primary" read_masters
  note_stock back
  let_rows_go
  say "$old was killed, which had $(printf '%s\n' "${owners[@]}" | grep -cx "$old") of ${#owners[@]} slots that are used"
  count_accepted
  "$stack" --dir "$stack_dir" start "$old" 8>&-
  write_down "$old"
  await "$old as a replica" follows "$old"
}

# --- the runs ---

break_redis() { # FAULT NUMBER
  local begun_us bound_ms
  begun_us=$(now_us)
  case $1 in redis-failover) lose_primary ;; slots) move_slots ;; node) kill_master "$2" ;; esac
  bound_ms=$((($(now_us) - begun_us) / 1000 + sold_ms))
  echo "$begun_us $1 $bound_ms" >>"$out/events"
  say "$1: over after $((bound_ms - sold_ms)) ms"
  rest_until $((begun_us + bound_ms * 1000 + 1000000))
}

start_fleet() { # FAULT REPLICAS
  local i url=$SECKILL_CLUSTER lease_ms=2000 promise=redis_failover   # which in GET /strategies covers the fault
  unset SECKILL_STOCK_REDIS   # check knows no cluster
  case $1 in
    redis-failover) url=$sentinel && export SECKILL_STOCK_REDIS=unix://$sockets/$primary.sock ;;
    slots) promise=many_instances lease_ms=4000 ;;   # which holds for as long as the lease does
  esac
  server_options=(--lock-ttl-ms $lease_ms --work-timeout-ms 1500 --redis "$url" --stock-redis "$url" --stock-redis-replicas "$2")
  urls=('' '' '')
  for i in 0 1 2; do start_server $i; done
  promised=" $(curl -fsS --noproxy '*' "${urls[0]}/strategies" | grep -oE "\"name\": \"[^\"]*|\"$promise\": true" |
    awk -F '"' '/"name"/ { name = $4; next } { printf "%s ", name }') "
}

stop_fleet() { local i; for i in 0 1 2; do stop_server $i; done; }

with_waitaof() { printf '%s\n' 7.2 "$(tell stock info server | sed -n 's/^redis_version:\([0-9.]*\).*/\1/p')" | sort -VC; }

# Of a fault: what showed a violation, and how soon those that promise sold again.
judge_fault() { # FAULT
  local strategy held=()
  for strategy in "${strategies[@]}"; do
    if [[ $promised = *" $strategy "* ]]; then held+=("$strategy"); fi
    printf '%-20s %-16s %s\n' "$strategy" "$1" \
      "red in ${reds[$strategy]:-0} of $runs$([[ $promised != *" $strategy "* ]] || echo ', and promises 0')"
  done
  grep -E "^($(IFS='|'; echo "${held[*]}")) " "$out/first_sales" >"$out/first_sales.held" || true
  mv "$out/first_sales.held" "$out/first_sales"
  local strategies=("${held[@]}") before=$failures
  [ ${#held[@]} = 0 ] || judge_first_sales "$1"
  [ -z "$untimed" ] || failures=$before
  : >"$out/first_sales"
}

control() { # FAULT
  local number strategy
  strategies=(redis-stock) red=()
  [ "$1" = node ] || strategies+=(redis-token)   # a lease is over before a node has been replaced
  say "and the control, $1: ${strategies[*]}, without --stock-redis-replicas"
  start_fleet "$1" 0
  for number in $(seq $((runs + 1)) $((runs + 5))); do   # a failover may find no lock held
    delete_stuck
    run "$1" "$number"
    [ ${#red[@]} -lt ${#strategies[@]} ] || break
  done
  stop_fleet
  for strategy in "${strategies[@]}"; do
    [ -n "${red[$strategy]:-}" ] || die "the control has lost nothing of $strategy: $1 has hit nobody"
  done
}

run_redis_faults() {
  local fault number strategy name all=("${strategies[@]}") replicas=0 sentinel controls=()
  prepare --with replica,sentinel,cluster
  sockets=${SECKILL_STOCK_REDIS#unix://}
  sockets=${sockets%/*}
  unset SECKILL_REDIS
  sentinel=redis-sentinel://127.0.0.1:$(cat "$stack_dir/sentinel.access")/seckill
  watch_pair
  if with_waitaof; then
    replicas=1
  else
    say "redis-stock's 202s survive a failover from Redis 7.2 on: here it is the control alone"
  fi
  for name in $(cut -d ' ' -f 1 "$stack_dir/cluster.access"); do write_down "$name"; done
  for fault in "${faults[@]}"; do
    strategies=() reds=()
    for strategy in "${all[@]}"; do
      [ "$strategy" = redis-stock ] && [ "$fault" != slots ] && [ $replicas = 0 ] || strategies+=("$strategy")
    done
    start_fleet "$fault" $replicas
    for number in $(seq "$runs"); do
      red=()
      delete_stuck
      run "$fault" "$number"
      for strategy in "${!red[@]}"; do reds[$strategy]=$((${reds[$strategy]:-0} + 1)); done
    done
    stop_fleet
    judge_fault "$fault"
    [ "$fault" = slots ] || controls+=("$fault")
  done
  for fault in "${controls[@]:-redis-failover}"; do control "$fault"; done
  say "seed $seed, $runs runs of ${faults[*]}: $((failures + violations)) failures, and the control was red, as it must be"
  [ $((failures + violations)) = 0 ]
}
