#!/usr/bin/env bash
# PostgreSQL on several machines that elect a primary by Patroni and etcd, to see a failover on this one: each node is a
# network namespace, with a link to a bridge in one of its own, where this machine has an address. Needs root and Debian's packages.
#
#   cluster.sh [--dir DIR] up [--mode MODE] [--etcd PLACE] [--with LIST]
#                                            start it, and wait until a standby has what a commit promises
#   cluster.sh [--dir DIR] down              stop all of it and leave nothing
#   cluster.sh [--dir DIR] status            what Patroni says of its members
#   cluster.sh [--dir DIR] env               lines for eval: SECKILL_DATABASE, all hosts; SECKILL_POOLED_DATABASE, the
#                                            primary behind a PgBouncer (1.21 and later: Debian 13); of LIST
#   cluster.sh [--dir DIR] primary           the name of the node that takes writes
#   cluster.sh [--dir DIR] kill NODE         every process of it, as a machine that loses its power
#   cluster.sh [--dir DIR] freeze NODE       every process of it stands still; thawed, it knows of nothing
#   cluster.sh [--dir DIR] cut NODE          its link is down
#   cluster.sh [--dir DIR] half NODE         it loses the other nodes, while clients still reach it
#   cluster.sh [--dir DIR] heal NODE         undoes these, and waits for a standby again
#   cluster.sh [--dir DIR] switchover        a planned one, to a standby that has everything
#
# NODE is n1, n2, n3, or: primary. MODE is what a 201 is worth: strict (a synchronous standby, or no commit), quorum
# (any one of two; Patroni 4), async. n3 has a PostgreSQL with quorum alone. PLACE: beside (on n1, n2 and n3: where its
# leader is lost another one is elected first, and leases begin anew), or apart (n4, n5 and n6, which no fault meets).
# LIST is some of rabbitmq, zookeeper, redis (with Sentinels), on all three (stack.d/nodes.sh). Several at once: a DIR
# each.
#
# DIR (.cluster in the checkout) holds the logs; the data is in a folder under /var/tmp, which DIR/state names. What runs
# in a node's namespace was started here, so that is what gets the signals. Exit status 2: this machine cannot (no root,
# no namespaces).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/stack.d/nodes.sh"

dir=$root/.cluster
nodes=(n1 n2 n3)
unset "${!PG@}"

usage() { sed -n '5,23s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
cannot() { echo "$me: $*" >&2; exit 2; }

# --- what DIR remembers: home, name, net (the first three numbers of its addresses), mode, etcd's place and what else there is ---

read_state() {
  [ -f "$dir/state" ] || die "no cluster has been started in $dir: $me up"
  read -r home name net mode etcd with <"$dir/state"
}

namespace() { echo "$name$1"; }   # NODE; '': the bridge's
address() { echo "$net.1${1#n}"; }   # NODE
# Unlike `ip -n` and `ip netns exec` it needs no / that is a mount point, which it is not in a chroot.
inside() { nsenter --net="/run/netns/$(namespace "$1")" "${@:2}"; }   # NODE, or '', COMMAND...
processes() { ip netns pids "$(namespace "$1")"; }   # NODE
voters() { if [ "$etcd" = apart ]; then echo n4 n5 n6; else echo "${nodes[*]}"; fi; }   # where etcd is
has_postgres() { [[ $1 == n[12] || ( $1 == n3 && $mode == quorum ) ]]; }   # NODE
is_voter() { [[ " $(voters) " == *" $1 "* ]]; }   # NODE

everything() { printf '%s\n' n0 "${nodes[@]}" n4 n5 n6; }
members() { local node; for node in "${nodes[@]}"; do if has_postgres "$node"; then echo "$node"; fi; done; }

node_named() { # NODE|primary
  if [ "$1" = primary ]; then primary || die "no node takes writes"; return; fi
  [[ " ${nodes[*]} " == *" $1 "* ]] || die "there is no node $1: ${nodes[*]}, or primary"
  echo "$1"
}

# --- the network ---

choose_net() { # of what RFC 2544 keeps for tests, a part that nobody here has
  local third
  for third in $(seq 0 255); do
    net=198.18.$third
    [ -n "$(ip -4 route show root "$net.0/24")" ] || return 0
  done
  die "all of 198.18.0.0/16 is in use here"
}

# The bridge has a namespace of its own: in the machine's a firewall, Docker's for one, may forward nothing between nodes.
lay_network() {
  local node peer
  ip netns add "$name"
  inside '' ip link add bridge type bridge
  inside '' ip link set bridge up
  ip link add "$name" type veth peer name machine netns "$name"
  inside '' ip link set machine master bridge up
  ip addr add "$net.1/24" dev "$name"
  ip link set "$name" up
  for node in $(everything); do
    peer=$(namespace "$node")
    ip netns add "$peer"
    inside '' ip link add "$node" type veth peer name eth0 netns "$peer"
    inside '' ip link set "$node" master bridge up
    inside "$node" ip addr add "$(address "$node")/24" dev eth0
    inside "$node" ip link set eth0 up
    inside "$node" ip link set lo up
  done
}

# --- a node's programs ---

# What elects goes before what works, or a busy machine elects for no reason: so says nice, and where sessions share the
# processor between them (autogroups) the session's own.
launch() { # NODE PROGRAM NICE COMMAND...
  (
    exec </dev/null >>"$dir/$1.$2.log" 2>&1 8>&- 9>&-
    cd "$home/$1"
    # shellcheck disable=SC2016  # the inner shell's
    exec setsid nice -n "$3" nsenter --net="/run/netns/$(namespace "$1")" sh -c 'echo $0 2>/dev/null >/proc/self/autogroup; exec "$@"' "$3" \
      setpriv --reuid postgres --regid postgres --init-groups --reset-env -- "${@:4}"
  ) &
  disown   # its end is no news
}

start_etcd() { # NODE
  local here there all=''
  here=$(address "$1")
  for there in $(voters); do all+=,$there=http://$(address "$there"):2380; done
  launch "$1" etcd -10 etcd --name "$1" --data-dir "$home/$1/etcd" --initial-cluster "${all#,}" \
    --initial-cluster-state new --initial-cluster-token "$name" --heartbeat-interval 500 --election-timeout 5000 \
    --listen-peer-urls "http://$here:2380" --initial-advertise-peer-urls "http://$here:2380" \
    --listen-client-urls "http://$here:2379" --advertise-client-urls "http://$here:2379" --logger zap --log-level warn
}

promise() {
  case $mode in
    strict) echo 'synchronous_mode: true, synchronous_mode_strict: true' ;;
    quorum) echo 'synchronous_mode: quorum, synchronous_mode_strict: true' ;;
    async) echo 'maximum_lag_on_failover: 1073741824' ;;
  esac
}

# The shortest times that Patroni allows. A standby whose primary has gone may sleep wal_retrieve_retry_interval (5 s
# otherwise) before it heeds a promotion. A unix socket goes through namespaces, so there is none.
write_patroni() { # NODE
  local here node hosts='' bin
  here=$(address "$1")
  for node in $(voters); do hosts+=", '$(address "$node"):2379'"; done
  bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
  cat >"$home/$1/patroni.yml" <<YML
scope: seckill
name: $1
restapi: {listen: '$here:8008', connect_address: '$here:8008'}
etcd3: {hosts: [${hosts#, }]}
bootstrap:
  dcs:
    {ttl: 20, loop_wait: 1, retry_timeout: 3, primary_start_timeout: 0, $(promise),
     postgresql: {use_pg_rewind: true, parameters: {max_connections: 200, shared_buffers: 64MB, wal_log_hints: 'on',
       wal_keep_size: 512MB, wal_retrieve_retry_interval: 200ms}}}
  initdb: [encoding: UTF8, locale: C.UTF-8, data-checksums]
  pg_hba: ['local all all trust', 'host all all $net.0/24 trust', 'host replication all $net.0/24 trust']
postgresql:
  listen: '$here:5432'
  connect_address: '$here:5432'
  data_dir: $home/$1/postgres
  bin_dir: $bin
  basebackup: [checkpoint: fast]
  pgpass: $home/$1/pgpass
  authentication: {replication: {username: postgres}, superuser: {username: postgres}, rewind: {username: postgres}}
  parameters: {unix_socket_directories: ''}
watchdog: {mode: 'off'}
YML
}

# Its postmaster is a daemon: under tini somebody takes note of its end also where process 1 does not, as in a container.
start_patroni() { launch "$1" patroni -5 tini -s -- patroni "$home/$1/patroni.yml"; } # NODE

start_node() { # NODE
  local other
  if is_voter "$1"; then start_etcd "$1"; fi
  if has_postgres "$1"; then start_patroni "$1"; fi
  for other in $with; do "start_$other" "$1"; done
}

# Beside the nodes, in a namespace of its own (n0): a PgBouncer, whose way to the primary is an HAProxy that asks Patroni.
# It keeps named statements apart from that version on.
has_pooler() { dpkg --compare-versions "$(dpkg-query -W -f '${Version}' pgbouncer 2>/dev/null)" ge 1.21; }

start_pooler() {
  local node here folder=$home/n0
  here=$(address n0)
  {
    printf '%s\n' defaults 'mode tcp' 'timeout connect 2s' 'timeout client 1h' 'timeout server 1h' 'timeout check 2s' \
      'listen primary' "bind $here:5000" 'option httpchk OPTIONS /primary' 'http-check expect status 200' \
      'default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions'
    for node in $(members); do echo "server $node $(address "$node"):5432 check port 8008"; done
  } >"$folder/haproxy.cfg"
  printf '%s\n' '[databases]' "* = host=$here port=5000" '[pgbouncer]' "listen_addr = $here" 'listen_port = 6432' \
    'unix_socket_dir =' 'auth_type = trust' "auth_file = $folder/users" 'pool_mode = transaction' \
    'max_prepared_statements = 200' 'default_pool_size = 30' 'server_login_retry = 1' >"$folder/pgbouncer.ini"
  echo '"seckill" ""' >"$folder/users"
  chown -R postgres:postgres "$folder"
  launch n0 haproxy 0 /usr/sbin/haproxy -f "$folder/haproxy.cfg" -db
  launch n0 pgbouncer 0 /usr/sbin/pgbouncer "$folder/pgbouncer.ini"
}

# --- what Patroni says ---

says() { curl -fsS -m 2 -o /dev/null "http://$(address "$1"):8008/$2" 2>/dev/null; } # NODE ROLE

# Patroni calls it so as soon as it has the lock; then it is yet to be promoted.
takes_writes() { # NODE
  says "$1" primary && [ "$(psql -X -tA -c 'SELECT pg_is_in_recovery()' \
    "host=$(address "$1") user=postgres dbname=postgres connect_timeout=2" 2>/dev/null)" = f ]
}

primary() { local node; for node in $(members); do if takes_writes "$node"; then echo "$node"; return; fi; done; return 1; }

has_standby() { # that has what a commit promises
  local node role
  case $mode in strict) role=synchronous ;; quorum) role=quorum ;; async) role=replica ;; esac
  for node in $(members); do if says "$node" "$role"; then return; fi; done
  return 1
}

wait_until() { # SECONDS WHAT COMMAND...
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null; do
    [ $SECONDS -lt $end ] || { tail -n 5 "$dir"/n*.log >&2; die "$what; the logs are in $dir"; }
    sleep 0.2
  done
}

query() { # DATABASE SQL, at the primary
  psql -X -q -tA -v ON_ERROR_STOP=1 -c "$2" "host=$(address "$(primary)") user=postgres dbname=$1 connect_timeout=5"
}

# --- the commands ---

check_machine() {
  [ "$(id -u)" = 0 ] || cannot "needs root, for network namespaces: sudo $0 up"
  unshare --net true 2>/dev/null || cannot "this kernel or container allows no network namespaces"
}

up() {
  [ ! -f "$dir/state" ] || die "a cluster has been started in $dir: $me down"
  local node other packages=()
  for other in $with; do mapfile -t -O ${#packages[@]} packages < <(packages_of "$other"); done
  install_packages "${run_packages[@]}" "${cluster_packages[@]}" "${packages[@]}"
  if [ "$mode" = quorum ] && dpkg --compare-versions "$(dpkg-query -W -f '${Version}' patroni)" lt 4; then
    cannot "quorum needs Patroni 4; here is $(patroni --version)"
  fi
  name=sk$(printf '%s' "$dir" | cksum | cut -c 1-6)
  choose_net
  home=$(mktemp -d /var/tmp/seckill-cluster.XXXXXX)
  chmod 755 "$home"
  echo "$home $name $net $mode $etcd $with" >"$dir/state"
  trap 'keep=1; down' EXIT
  trap 'exit 130' INT TERM HUP
  lay_network
  for node in $(everything); do
    mkdir -p "$home/$node/postgres" "$home/$node/etcd"
    if has_postgres "$node"; then write_patroni "$node"; fi
    if [[ " ${nodes[*]} " == *" $node "* ]]; then
      for other in $with; do "write_$other" "$node"; done
    fi
    chown -R postgres:postgres "$home/$node"
    chmod 700 "$home/$node" "$home/$node/"{postgres,etcd}
    if is_voter "$node"; then start_etcd "$node"; fi
  done
  start_patroni n1
  wait_until 90 "n1 has not become the primary" takes_writes n1
  for node in $(members); do [ "$node" = n1 ] || start_patroni "$node"; done
  if has_pooler; then start_pooler; fi
  query postgres 'CREATE ROLE seckill LOGIN; CREATE ROLE shop LOGIN'
  query postgres 'CREATE DATABASE seckill OWNER seckill'
  query postgres 'GRANT pg_checkpoint, pg_monitor TO seckill; GRANT pg_monitor TO shop'
  for other in $with; do
    for node in "${nodes[@]}"; do "start_$other" "$node"; done
    for node in "${nodes[@]}"; do wait_until 120 "no $other on $node" "answers_$other" "$node"; done
  done
  wait_until 120 "no standby" has_standby
  trap - EXIT INT TERM HUP
  say "n1 takes writes after $SECONDS s; its address and the others': $0 --dir $dir env"
}

down() {
  local node
  [ -f "$dir/state" ] || return 0
  read_state
  for node in $(everything) ''; do
    [ -e "/run/netns/$(namespace "$node")" ] || continue
    signal "$node" KILL
    ip netns del "$(namespace "$node")"
  done
  ip link del "$name" 2>/dev/null || true
  rm -rf "$home"
  [ -n "${keep:-}" ] || rm -f "$dir"/n?.*.log   # of a start that failed they say why
  rm -f "$dir"/state "$dir"/lock
  rmdir "$dir" 2>/dev/null || true
}

# Until none is left that has not had it: a process may have begun another meanwhile.
signal() { # NODE STOP|CONT|KILL
  local pid pids seen='' new
  while :; do
    new='' pids=$(processes "$1")
    for pid in $pids; do
      [[ $2 != KILL && " $seen " == *" $pid "* ]] || { new=1 seen+=" $pid"; kill -s "$2" "$pid" 2>/dev/null || true; }
    done
    [ -n "$new" ] || return 0
    [ "$2" != KILL ] || sleep 0.05
  done
}

routes_to_others() { # NODE add|del: packets to them go nowhere
  local other
  for other in "${nodes[@]}" $(voters); do
    [ "$other" = "$1" ] || inside "$1" ip route "$2" blackhole "$(address "$other")/32" 2>/dev/null || true
  done
}

heal() { # NODE
  routes_to_others "$1" del
  inside '' ip link set "$1" up
  if [ -z "$(processes "$1")" ]; then
    rm -f "$home/$1/postgres/postmaster.pid"   # its number may be a zombie's, where a machine's would be nobody's
    start_node "$1"
  else
    signal "$1" CONT
  fi
  follow_again
}

# A standby that has gone a way of its own is made anew, as its operator would.
follow_again() {
  local end=$((SECONDS + 60)) now node
  until has_standby; do
    [ $SECONDS -lt $end ] || break
    sleep 0.2
  done
  if has_standby; then return; fi
  now=$(primary) || die "no node takes writes"
  for node in $(members); do
    [ "$node" = "$now" ] || patronictl -c "$home/$now/patroni.yml" reinit --force seckill "$node" >>"$dir/$node.reinit.log" 2>&1 ||
      { cat "$dir/$node.reinit.log" >&2; die "$node cannot be made anew"; }
  done
  wait_until 120 "no standby" has_standby
}

print_env() {
  local node other hosts=''
  for node in $(members); do hosts+=,$(address "$node"); done
  printf 'export SECKILL_DATABASE=%q\n' "host=${hosts#,} port=5432 dbname=seckill user=seckill"
  for other in $with; do "env_$other"; done
  ! has_pooler || printf 'export SECKILL_POOLED_DATABASE=%q\n' "host=$(address n0) port=6432 dbname=seckill user=seckill"
}

status() {
  local node
  for node in $(members); do
    if says "$node" liveness; then patronictl -c "$home/$node/patroni.yml" list && return; fi
  done
  die "no member answers"
}

switchover() {
  local from node
  from=$(primary) || die "no node takes writes"
  patronictl -c "$home/$from/patroni.yml" switchover --force --leader "$from" >"$dir/$from.switchover.log" 2>&1 ||
    { cat "$dir/$from.switchover.log" >&2; die "no switchover"; }
  for node in $(members); do if takes_writes "$node"; then say "$from handed over to $node"; fi; done
}

enter() {
  mkdir -p "$dir" || die "cannot make $dir"
  dir=$(cd "$dir" && pwd -P)
  exec 9>"$dir/lock"
  flock -w 300 9 || die "another $me has been at work in $dir for 5 minutes"
}

main() {
  local command='' mode_asked='' etcd_asked='' node='' other with=''
  while [ $# -gt 0 ]; do
    case $1 in
      --dir) [ $# -gt 1 ] || die "--dir takes a folder"; dir=$2; shift ;;
      --mode) [ $# -gt 1 ] || die "--mode takes strict, quorum or async"; mode_asked=$2; shift ;;
      --etcd) [ $# -gt 1 ] || die "--etcd takes apart or beside"; etcd_asked=$2; shift ;;
      --with)
        for other in ${2//,/ }; do
          [[ " ${others[*]} " == *" $other "* ]] || die "--with takes some of: ${others[*]}"
          with+=" $other"
        done
        [ -n "${with# }" ] || die "--with takes some of: ${others[*]}"
        shift ;;
      -h | --help) usage; return ;;
      up | down | status | env | primary | switchover | kill | freeze | cut | half | heal)
        [ -z "$command" ] || die "one command: $command or $1"
        command=$1
        case $command in kill | freeze | cut | half | heal)
          [ $# -gt 1 ] || die "$command takes a node: ${nodes[*]}, or primary"
          node=$2
          shift ;;
        esac ;;
      *) usage >&2; die "unknown argument $1" ;;
    esac
    shift
  done
  [ -n "$command" ] || { usage >&2; exit 2; }
  [ -z "$mode_asked$etcd_asked$with" ] || [ "$command" = up ] || die "--mode, --etcd and --with go with up"
  mode=${mode_asked:-strict}
  [[ $mode == @(strict|quorum|async) ]] || die "--mode takes strict, quorum or async"
  etcd=${etcd_asked:-beside}
  [[ $etcd == @(apart|beside) ]] || die "--etcd takes apart or beside"
  if [ ! -d "$dir" ] && [ "$command" = down ]; then return; fi
  [ "$command" != up ] || check_machine
  enter
  if [ "$command" = up ]; then up; return; fi
  [ "$command" = down ] || read_state
  [ -z "$node" ] || node=$(node_named "$node")
  case $command in
    down) down ;;
    status) status ;;
    env) print_env ;;
    primary) primary || die "no node takes writes" ;;
    kill) signal "$node" KILL ;;
    freeze) signal "$node" STOP ;;
    cut) inside '' ip link set "$node" down ;;
    half) routes_to_others "$node" add ;;
    heal) heal "$node" ;;
    switchover) switchover ;;
  esac
}

main "$@"
