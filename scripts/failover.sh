#!/usr/bin/env bash
# failover.sh: what failovers of cluster.sh's cost recorded buyers, and that none of them loses an order.
#
#   failover.sh [--runs N] [--seed N] [--faults NAME,…] [--strategies NAME,…] [--mode strict|quorum]
#               [--etcd apart|beside] [--untimed] [--out DIR]
#
# Three servers outside of the nodes, one of which has rights on rows alone and one is behind a PgBouncer (Debian 13),
# sell by several strategies at once; RabbitMQ and the locks' Redis are on the nodes, too. The primary is killed with
# all of its node (kill), stands still until it has been replaced and then wakes (freeze), has its link down (cut),
# loses the other nodes while clients reach it (half), or hands over (switchover). Each run is a fault, healed, and
# every ledger is judged on the primary that there is then: nothing may be lost, doubled or falsely sold out, another
# node takes over within 25 s (a ttl of 20 s; 45 with etcd beside PostgreSQL: where its leader was on the node it elects
# another one first, and the lock has its whole ttl again), and each product sells again within 5 s of a standby's being
# there, for which a commit waits. The control is `half` with an asynchronous standby, which must lose orders that were
# answered 201: else the fault has hit nobody.
#
# Or, with --faults redis-failover,slots,node: what becomes of the locks and 202s when Redis fails over or a cluster's slots
# move (soak.d/redis_failover.sh). Or, with --faults cell: one of three cells behind HAProxy loses its primary
# (soak.d/cell_failover.sh). Neither needs root or namespaces.
#
# Without options half, freeze and switchover once, with conditional and batch: five minutes. --untimed: how long anything
# took is told and not judged, and every order takes 20 ms longer, for a machine that is busy with something else. Exit
# status: 0 as it should be, 1 not, 2 it cannot be seen here (no root, no namespaces, a cluster that does not come to
# rest). DIR (.stack/failover/out) keeps the logs, and the ledgers that show something.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/soak.d/crowds.sh"

runs=1 seed=1 mode=strict etcd=beside untimed='' out=$root/.stack/failover/out
faults=(half freeze switchover) known=(kill freeze cut half switchover) redis_faults=(redis-failover slots node)
head_s=4 most_s=600 replaced_ms=25000 sold_ms=5000 pauses=1
strategies=(conditional batch) chosen=() packages=() with='' break=break_primary server_options=(--lock-ttl-ms 2000 --work-timeout-ms 1500)

while [ $# -gt 0 ]; do
  case $1 in
    --runs) [[ ${2:-} =~ ^[1-9][0-9]{0,3}$ ]] || die "--runs takes a number from 1 to 9999"; runs=$2 ;;
    --seed) [[ ${2:-} =~ ^[0-9]{1,9}$ ]] || die "--seed takes a number"; seed=$2 ;;
    --faults) IFS=, read -r -a faults <<<"${2:?--faults takes names}" ;;
    --strategies) IFS=, read -r -a chosen <<<"${2:?--strategies takes names}" ;;
    --untimed) untimed=1; shift; continue ;;
    --etcd) [[ ${2:-} =~ ^(apart|beside)$ ]] || die "--etcd takes apart or beside"; etcd=$2 ;;
    --mode) [[ ${2:-} =~ ^(strict|quorum)$ ]] || die "--mode takes strict or quorum"; mode=$2 ;;
    --out) out=$(realpath -m "${2:?--out takes a folder}") ;;
    *) die "there is no $1: $(sed -n '4,5s/^# *//p' "${BASH_SOURCE[0]}")" ;;
  esac
  shift 2
done
[ "$etcd" = apart ] || replaced_ms=45000
if [[ " ${redis_faults[*]} " == *" ${faults[0]} "* ]]; then
  source "$(dirname "${BASH_SOURCE[0]}")/soak.d/redis_failover.sh"
  known=("${redis_faults[@]}") break=break_redis
fi
if [[ " ${faults[*]} " == *' cell '* ]]; then
  source "$(dirname "${BASH_SOURCE[0]}")/stack.d/balancer.sh"
  source "$(dirname "${BASH_SOURCE[0]}")/soak.d/cell_failover.sh"
  known=(cell) break=break_cell
fi
for fault in "${faults[@]}"; do
  [[ " ${known[*]} " == *" $fault "* ]] || die "there is no $fault: ${known[*]}"
done
[ ${#chosen[@]} = 0 ] || strategies=("${chosen[@]}")
[ -z "$untimed" ] || export SECKILL_WORK_MS=20

dir=$root/.stack/failover/cluster
cluster() { "$root/scripts/cluster.sh" --dir "$dir" "$@" 8>&-; }

# Nothing was shown: Debian 12's Patroni, for one, may write "Synchronous replication key updated by someone else" for ever
# when a primary wakes in the moment in which another one is promoted.
no_cluster() { say "the cluster does not come to rest: $*"; exit 2; }

end() {
  trap '' INT TERM HUP
  end_all ''
  [ $break != break_cell ] || end_cells
  cp "$dir"/n?.*.log "$out" 2>/dev/null || true   # there are none where all went well
  cluster down
  leave_stack
}

start() { # MODE
  local settings code=0
  cluster up --mode "$1" --etcd "$etcd" ${with:+--with "$with"} || code=$?
  [ $code = 0 ] || no_cluster "up"
  settings=$(cluster env)
  eval "$settings"
  urls=('' '' '')
  start_server 0
  SECKILL_DATABASE=${SECKILL_POOLED_DATABASE:-$SECKILL_DATABASE} start_server 1
  psql -X -q -v ON_ERROR_STOP=1 "$SECKILL_DATABASE target_session_attrs=read-write" -c 'GRANT USAGE ON SCHEMA seckill TO shop' \
    -c 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA seckill TO shop' \
    -c 'GRANT USAGE ON ALL SEQUENCES IN SCHEMA seckill TO shop'
  SECKILL_DATABASE=${SECKILL_DATABASE/user=seckill/user=shop} SECKILL_MIGRATE=never start_server 2
  [[ $with != *redis* ]] || unset SECKILL_REDIS   # whose locks `check` would look at: it knows no Sentinels
}

stop() {
  local i
  for i in 0 1 2; do stop_server $i; done
  cluster down
  [ ! -e "$dir" ] || fail "down leaves $(ls "$dir")"
  [ -z "$(ip netns list | grep -F "$(printf '%s' "$dir" | cksum | cut -c 1-6)" || true)" ] || fail "namespaces are left"
}

# Nobody is the primary, or the same node, until it has been replaced.
wait_for_another() { # NODE
  local end=$((SECONDS + 120)) now
  until now=$(cluster primary 2>/dev/null) && [ "$now" != "$1" ]; do
    [ $SECONDS -lt $end ] || no_cluster "$1 is not replaced: $(cluster status)"
    sleep 0.2
  done
}

# Heals it as soon as it has been replaced, and comes back when each product must have sold again: that is an event.
break_primary() { # FAULT
  local node begun_us replaced_us bound_ms
  node=$(cluster primary)
  begun_us=$(now_us)
  if [ "$1" = switchover ]; then cluster switchover || no_cluster "switchover"; else cluster "$1" "$node"; fi
  wait_for_another "$node"
  replaced_us=$(now_us)
  cluster heal "$node" || no_cluster "$node is not healed"
  bound_ms=$((($(now_us) - begun_us) / 1000 + sold_ms))
  echo "$begun_us $1 $bound_ms" >>"$out/events"
  say "$1 of $node: replaced after $(((replaced_us - begun_us) / 1000)) ms"
  [ -n "$untimed" ] || [ $(((replaced_us - begun_us) / 1000)) -le $replaced_ms ] || fail "$1: $node was not replaced in time"
  rest_until $((begun_us + bound_ms * 1000 + 1000000))
}

run() { # FAULT NUMBER
  local url before=$violations
  for url in "${urls[@]}"; do
    curl -fsS -o /dev/null --retry 60 --retry-delay 1 --retry-all-errors --noproxy '*' "$url/readyz" || die "$url is not ready"
  done
  begin_crowds $most_s $((seed * 10000 + $2 * 100)) "$1-$2"
  sleep $head_s.$((RANDOM % 10))
  $break "$1" "$2"
  ask_crowds
  end_crowds
  say "$1, run $2: $operations operations, ${#names[@]} ledgers, $((violations - before)) with violations"
}

prepare() { # STACK_OPTION...
  install_packages "${build_packages[@]}" "${run_packages[@]}" "${packages[@]}"
  build release seckill-server seckill-loadtest
  check_strategies "$server" --strategies "$(IFS=,; echo "${strategies[*]}")"
  trap pass_on INT TERM HUP
  use_stack "$root/.stack/failover" fresh "$@"
  trap end EXIT
  rm -rf "$out"
  mkdir -p "$out"
  : >"$out/first_sales"
  RANDOM=$seed
}

if [ $break = break_redis ]; then run_redis_faults; exit; fi
if [ $break = break_cell ]; then run_cell_faults; exit; fi

packages=("${cluster_packages[@]}")
for strategy in "${strategies[@]}"; do
  case $strategy in
    redis-stock) ;;   # its Redis stands apart: it may not lose anything
    partitioned-queue) packages+=(librabbitmq-dev) with+=,rabbitmq ;;
    redis-* | wllock) [[ $with = *redis* ]] || with+=,redis ;;
    zookeeper-lock) packages+=(libzookeeper-mt-dev) with+=,zookeeper ;;
  esac
done
with=${with#,}
prepare
start "$mode"
for number in $(seq "$runs"); do
  for fault in "${faults[@]}"; do run "$fault" "$number"; done
done
stop
lost=$violations result=$((failures + violations))
judge_first_sales "${faults[@]}"
[ -n "$untimed" ] || result=$((failures + violations))

say "and the control: the standby is asynchronous"
start async
run half 0
for node in n1 n2 n3; do cluster kill $node; done
stop
[ "$violations" -gt "$lost" ] || die "the control has lost nothing: the faults have hit nobody"
say "seed $seed, $runs runs of ${faults[*]}: $result failures, and the control lost orders, as it must"
[ $result = 0 ]
