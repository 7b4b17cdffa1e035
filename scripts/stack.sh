#!/usr/bin/env bash
# A private PostgreSQL and two Redis servers for this checkout, on unix sockets; on request what some strategies need.
#
#   stack.sh [--dir DIR] up [--with LIST]  start what is not running, and wait until each one answers
#   stack.sh [--dir DIR] down [--purge]    stop what was started here; --purge: throw the data away too
#   stack.sh [--dir DIR] status            one line a server; exit status 3 when one of them is not running
#   stack.sh [--dir DIR] env               lines for eval: SECKILL_DATABASE, SECKILL_REDIS, SECKILL_STOCK_REDIS, …
#   stack.sh [--dir DIR] start SERVER      one of them alone, which was killed, and wait until it answers
#   stack.sh [--dir DIR] signal SERVER S   STOP, CONT or KILL for every process of it, and wait until it has had its effect
#   stack.sh [--dir DIR] failover          the standby is promoted, and the primary, dead or not, becomes its standby
#   stack.sh [--dir DIR] rabbitmqctl WORDS RabbitMQ's own tool, with these words (one argument)
#   stack.sh [--dir DIR] fsize SERVER N    a full disk: a PostgreSQL can write nothing beyond N bytes of any file, or: unlimited
#
# LIST is names with commas between them: rabbitmq (SECKILL_AMQP), redlock (three more Redis, SECKILL_REDLOCK),
# memcached (SECKILL_MEMCACHED), zookeeper (SECKILL_ZOOKEEPER). Or all: every one that is installed. By their names
# alone come the doubles of stack.d/doubles.sh: standby (SECKILL_STANDBY), replica (SECKILL_REPLICA), sentinel; mariadb
# (SECKILL_MARIADB); cluster, six Redis that are one (SECKILL_CLUSTER); and valkey, which is what each Redis of a stack
# that begins with it is.
#
# DIR (.stack in the checkout) holds the logs and, of each server, the process id and its start time. The data is in
# DIR/data. Root hands PostgreSQL and Redis to the user postgres; where that user cannot reach the checkout, or its file
# system has no modes (a Windows drive), it is in a folder under /var/tmp, which DIR/home names. Sockets are beside the
# data, or in a folder under /tmp, which DIR/sockets names, when their path would be too long for a socket or has signs
# that a URL would not carry.
#
# How it fails: a server that was killed is started again (PostgreSQL recovers by itself). One that does not answer in
# time makes `up` exit 1 with the end of its log. A process is ours only if its id, its start time and its working
# folder are all those of the server started here; nothing else is ever signalled. PostgreSQL is durable as it stands
# (fsync, synchronous_commit, full_page_writes on), so what is measured here is what a disk can do.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
dir=$root/.stack
servers=(postgres locks stock)
optional=(rabbitmq redlock memcached zookeeper)   # what --with may name: up_NAME starts it, has_NAME says whether it is installed
doubles=(standby replica sentinel mariadb cluster valkey)   # and what is no part of all
as_owner=()
home='' sockets='' launched=''
unset "${!PG@}"   # another server's settings

say() { echo "stack.sh: $*"; }
die() { echo "stack.sh: $*" >&2; exit 1; }
usage() { sed -n '2,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

# --- where things are ---

# Whom the servers run as: PostgreSQL refuses to run as root.
find_owner() {
  [ "$(id -u)" = 0 ] || return 0
  id -u postgres >/dev/null 2>&1 || die "there is no user postgres: apt-get install postgresql"
  as_owner=(setpriv --reuid postgres --regid postgres --init-groups --reset-env --)
}

owner_id() { if [ ${#as_owner[@]} -gt 0 ]; then id -u postgres; else id -u; fi; }

# A folder of the owner's and nobody else's: one that somebody else put in our place is not used.
is_private() { [ "$(stat -c '%u %a %F' "$1" 2>/dev/null)" = "$(owner_id) 700 directory" ]; }

read_places() {
  home=$dir/data
  [ ! -f "$dir/home" ] || home=$(cat "$dir/home")
  sockets=$home/run
  [ ! -f "$dir/sockets" ] || sockets=$(cat "$dir/sockets")
}

make_private() { # FOLDER
  mkdir -p "$1" && chmod 700 "$1" || return 1
  [ ${#as_owner[@]} = 0 ] || chown postgres:postgres "$1"
}

make_home() {
  if is_private "$home"; then return; fi
  [ ! -e "$home" ] || die "$home is not private: another user's (who says: stack.sh down --purge), or where no modes are kept"
  rm -f "$dir/home"
  home=$dir/data
  if make_private "$home" 2>/dev/null && is_private "$home" && "${as_owner[@]}" test -w "$home"; then return; fi
  rmdir "$home" 2>/dev/null || true
  home=$(mktemp -d /var/tmp/seckill-stack.XXXXXX)
  make_private "$home"
  is_private "$home" || die "$home cannot be made private: its file system keeps no modes"
  echo "$home" >"$dir/home"
}

fits_a_socket() { # FOLDER: 107 bytes, and nothing that a conninfo or a URL reads as its own
  local LC_ALL=C path=$1/.s.PGSQL.5432
  [ ${#path} -le 107 ] && [[ $path != *[!A-Za-z0-9/._+-]* ]]
}

make_sockets() {
  if [ -f "$dir/sockets" ] && is_private "$sockets"; then return; fi
  rm -f "$dir/sockets"
  sockets=$home/run
  if fits_a_socket "$sockets"; then
    make_private "$sockets"
    return
  fi
  sockets=$(mktemp -d /tmp/seckill-run.XXXXXX)
  make_private "$sockets"
  echo "$sockets" >"$dir/sockets"
}

# --- which process is ours ---

start_of() { # PID: when it started, in ticks since the boot
  local fields
  fields=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  read -r -a fields <<<"${fields##*) }"
  echo "${fields[19]}"
}

pid_of() { # SERVER: its process id while it runs
  local pid start
  [ -f "$dir/$1.id" ] || return 1
  read -r pid start <"$dir/$1.id" || return 1
  [ -n "$start" ] && [ "$(start_of "$pid")" = "$start" ] || return 1
  [ "$(readlink "/proc/$pid/cwd")" = "$home/$1" ] || return 1
  echo "$pid"
}

# Processes of the server's that stand in its folder: besides itself, what a killed one left behind.
processes_of() { # SERVER
  local proc cwd
  while read -r proc cwd; do
    [ "$cwd" = "$home/$1" ] || continue
    case $(cat "$proc/comm" 2>/dev/null) in
      postgres* | redis-* | valkey-* | mariadbd | beam.smp | erl_child_setup | inet_gethost | memcached | java) echo "${proc#/proc/}" ;;
    esac
  done < <(find /proc/[0-9]*/cwd -prune -printf '%h %l\n' 2>/dev/null)
}

has_processes() { [ -n "$(processes_of "$1")" ]; } # SERVER

wait_gone() { # SERVER SECONDS
  local end=$((SECONDS + $2))
  while pid_of "$1" >/dev/null || has_processes "$1"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}

# --- starting ---

# The identity is written before the process becomes the server, so that there is no moment in which a server runs
# and is not known. A session of its own: Ctrl-C in the terminal is not for it.
launch() { # SERVER COMMAND...
  local name=$1
  shift
  [ ! -f "$dir/$name.log" ] || mv "$dir/$name.log" "$dir/$name.log.1"
  (
    exec </dev/null >"$dir/$name.log" 2>&1 9>&-
    cd "$home/$name"
    me=$BASHPID   # in $(…) it would be another one's
    echo "$me $(start_of "$me")" >"$dir/$name.id"
    exec setsid "${as_owner[@]}" "$@"
  ) &
  launched=$!
}

is_starting() { # SERVER
  if [ -n "$launched" ]; then kill -0 "$launched" 2>/dev/null; else pid_of "$1" >/dev/null; fi
}

wait_answer() { # SERVER SECONDS COMMAND...
  local name=$1 end=$((SECONDS + $2))
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ! is_starting "$name" || [ $SECONDS -ge "$end" ]; then
      tail -n 20 "$dir/$name.log" >&2
      die "$name does not answer; its log is $dir/$name.log"
    fi
    sleep 0.1
  done
}

# --- the servers: has_NAME, up_NAME, env_NAME ---

# shellcheck source-path=SCRIPTDIR source=stack.d/ports.sh
. "$root/scripts/stack.d/ports.sh"
# shellcheck source-path=SCRIPTDIR source=stack.d/postgres.sh
. "$root/scripts/stack.d/postgres.sh"
# shellcheck source-path=SCRIPTDIR source=stack.d/redis.sh
. "$root/scripts/stack.d/redis.sh"
# shellcheck source-path=SCRIPTDIR source=stack.d/rabbitmq.sh
. "$root/scripts/stack.d/rabbitmq.sh"
# shellcheck source-path=SCRIPTDIR source=stack.d/locks.sh
. "$root/scripts/stack.d/locks.sh"
# shellcheck source-path=SCRIPTDIR source=stack.d/doubles.sh
. "$root/scripts/stack.d/doubles.sh"
# shellcheck source-path=SCRIPTDIR source=stack.d/mariadb.sh
. "$root/scripts/stack.d/mariadb.sh"
# shellcheck source-path=SCRIPTDIR source=stack.d/cluster.sh
. "$root/scripts/stack.d/cluster.sh"

# --- the commands ---

# Names in $with that are not known or not installed end the start; "all" leaves out what is not installed.
choose_optional() {
  local name
  chosen=()
  if [[ ,$with, == *,all,* ]]; then
    for name in "${optional[@]}"; do
      if "has_$name"; then chosen+=("$name"); else say "$name is not installed: left out"; fi
    done
  fi
  for name in ${with//,/ }; do
    [ "$name" != all ] || continue
    [[ " ${optional[*]} ${doubles[*]} " == *" $name "* ]] ||
      die "--with takes all or some of: ${optional[*]} ${doubles[*]}"
    "has_$name" || die "$name is not installed"
    chosen+=("$name")
  done
}

members() { # NAME: the servers behind it
  case $1 in
    redlock) printf '%s\n' redlock1 redlock2 redlock3 ;;
    cluster) printf '%s\n' cluster1 cluster2 cluster3 cluster4 cluster5 cluster6 ;;
    *) echo "$1" ;;
  esac
}

# Those of the optional names that have been started here and not stopped.
started() {
  local name member
  for name in "${optional[@]}" "${doubles[@]}"; do
    for member in $(members "$name"); do
      if [ -f "$dir/$member.id" ]; then echo "$name" && break; fi
    done
  done
}

started_servers() { local name; for name in $(started); do members "$name"; done; }

up() {
  local name
  choose_optional
  make_home
  make_sockets
  takes_writes postgres || chosen+=(standby)   # which took over
  if [[ " ${chosen[*]} " == *" valkey "* ]] && [ -z "$(compgen -G "$dir/*.id")" ]; then : >"$dir/valkey"; fi
  for name in "${servers[@]}" "${chosen[@]}" $(started); do "up_$name"; done
}

known() { # SERVER: one of those that were started here
  [[ " ${servers[*]} $(started_servers | tr '\n' ' ')" == *" $1 "* ]] || die "no server $1 has been started in $dir"
}

# "redlock2" is started by up_redlock, with the others of its kind that do not run.
start_one() { # SERVER
  known "$1"
  "up_${1%%[0-9]*}"
}

all_stopped() { # PID...
  local pid fields
  for pid in "$@"; do
    fields=$(cat "/proc/$pid/stat" 2>/dev/null) || continue
    [[ ${fields##*) } == [TtZX]* ]] || return 1
  done
}

stands_still() { local pid; pid=$(pid_of "$1") && all_stopped "$pid"; } # SERVER

# While its first process stands still, nobody collects those of its children that end: their ids stay theirs, and none
# that is in the list can be a stranger's by the time that it gets its signal. Nor does it begin another.
hold_still() { # SERVER PID
  kill -s STOP "$2" || die "$1 cannot be stopped"
  until all_stopped "$2"; do sleep 0.01; done
}

signal() { # SERVER STOP|CONT|KILL
  local pid pids
  known "$1"
  [[ $2 == @(STOP|CONT|KILL) ]] || die "signal takes STOP, CONT or KILL"
  pid=$(pid_of "$1") || die "$1 is not running"
  hold_still "$1" "$pid"
  mapfile -t pids < <(processes_of "$1" | grep -vx "$pid")
  [ ${#pids[@]} = 0 ] || kill -s "$2" "${pids[@]}" 2>/dev/null || true
  kill -s "$2" "$pid" || die "$1 cannot be sent $2"
  case $2 in
    KILL) wait_gone "$1" 20 || die "processes of the killed $1 are still there" ;;
    STOP) until all_stopped "$pid" "${pids[@]}"; do sleep 0.01; done ;;
  esac
}

# The error is EFBIG where a full disk's is ENOSPC; PostgreSQL takes both the same way. It ignores the signal that comes
# with it, which would end any other server.
limit_files() { # SERVER BYTES|unlimited
  local first pid pids failed=''
  known "$1"
  [[ $1 == @(postgres|standby) ]] || die "fsize is for a PostgreSQL"
  [[ $2 =~ ^([0-9]+|unlimited)$ ]] || die "fsize takes a number of bytes, or: unlimited"
  first=$(pid_of "$1") || die "$1 is not running"
  hold_still "$1" "$first"
  mapfile -t pids < <(processes_of "$1")
  for pid in "${pids[@]}"; do
    "${as_owner[@]}" prlimit --pid "$pid" --fsize="$2:" || failed=1
  done
  kill -s CONT "$first"
  [ -z "$failed" ] || die "$1 cannot be limited"
}

stop() { # SERVER: gently, and after half a minute not
  local name=$1 gentle=TERM hard=KILL pid
  if [ "$name" = postgres ]; then gentle=INT hard=QUIT; fi
  if pid=$(pid_of "$name"); then
    kill -s $gentle "$pid" 2>/dev/null || true
    kill -s CONT "$pid" 2>/dev/null || true   # it may have been stopped
    wait_gone "$name" 30 || { pid=$(pid_of "$name") && kill -s $hard "$pid" 2>/dev/null; } || true
  fi
  wait_gone "$name" 20 || die "$name does not stop; its log is $dir/$name.log"
  rm -f "$dir/$name.id"
}

down() {
  local name
  for name in $(started_servers | tac) "${servers[@]}"; do stop "$name"; done   # a standby before its primary
  [ ! -f "$dir/sockets" ] || { rm -rf "$sockets"; rm -f "$dir/sockets"; }
}

# What was made here and nothing else: DIR may have been there before.
purge() {
  local name
  if is_private "$home"; then rm -rf "$home"; fi
  for name in "${servers[@]}" "${optional[@]}" "${doubles[@]}" $(members redlock) $(members cluster) initdb; do rm -f "$dir/$name.log" "$dir/$name.log.1"; done
  rm -f "$dir/home" "$dir/lock" "$dir/valkey" "$dir/rabbitmq.access" "$dir/"{zookeeper,cluster,sentinel}.access
  rmdir "$dir" 2>/dev/null || true
}

status() {
  local name pid code=0
  for name in "${servers[@]}" $(started_servers); do
    if pid=$(pid_of "$name"); then say "$name runs as process $pid"; else say "$name is stopped" && code=3; fi
  done
  return $code
}

print_env() {
  local name
  [ -d "$sockets" ] || die "nothing has been started in $dir: stack.sh up"
  printf 'export %s=%q\n' SECKILL_DATABASE "host=$sockets port=5432 dbname=seckill user=seckill" \
    SECKILL_REDIS "unix://$sockets/locks.sock" SECKILL_STOCK_REDIS "unix://$sockets/stock.sock"
  for name in $(started); do "env_$name"; done
}

# One at a time in a folder: two at once would start two servers on the same data.
enter() {
  mkdir -p "$dir" || die "cannot make $dir"
  dir=$(cd "$dir" && pwd -P)
  [ -w "$dir" ] || die "$dir belongs to somebody else"
  exec 9>"$dir/lock"
  flock -w 300 9 || die "another stack.sh has been at work in $dir for 5 minutes"
  find_owner
  read_places
  cd /
}

main() {
  local command='' purge='' with='' count operands=()
  while [ $# -gt 0 ]; do
    case $1 in
      --dir) [ $# -gt 1 ] || die "--dir takes a folder"; dir=$2; shift ;;
      --with) [ $# -gt 1 ] || die "--with takes names"; with=$2; shift ;;
      --purge) purge=1 ;;
      -h | --help) usage; return ;;
      up | down | status | env | start | signal | failover | rabbitmqctl | fsize)
        [ -z "$command" ] || die "one command: $command or $1"
        command=$1
        case $command in start | rabbitmqctl) count=1 ;; signal | fsize) count=2 ;; *) count=0 ;; esac
        [ $# -gt $count ] || { usage >&2; die "$command takes $count words"; }
        operands=("${@:2:count}")
        shift "$count" ;;
      *) usage >&2; die "unknown argument $1" ;;
    esac
    shift
  done
  [ -n "$command" ] || { usage >&2; exit 2; }
  [ -z "$with" ] || [ "$command" = up ] || die "--with goes with up"
  [ -z "$purge" ] || [ "$command" = down ] || die "--purge goes with down"
  if [ ! -d "$dir" ] && [ "$command" = down ]; then return; fi
  enter
  case $command in
    up) up ;;
    down) down; [ -z "$purge" ] || purge ;;
    status) status ;;
    env) print_env ;;
    start) start_one "${operands[@]}" ;;
    signal) signal "${operands[@]}" ;;
    failover) failover ;;
    rabbitmqctl) rabbitmqctl "${operands[@]}" ;;
    fsize) limit_files "${operands[@]}" ;;
  esac
}

main "$@"
