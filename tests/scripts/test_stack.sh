#!/usr/bin/env bash
# scripts/stack.sh in folders of its own: started, started again, killed, started over with what was written still
# there, stopped; in a folder whose path is too long for a socket; with pid files that name a stranger, who survives.
set -euo pipefail

stack=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/stack.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/test-stack.XXXXXX")
stranger=''
dir=''

fail() { echo "test_stack: line ${BASH_LINENO[0]}: $*" >&2; exit 1; }

finish() {
  [ -z "$dir" ] || "$stack" --dir "$dir" down --purge || true
  [ -z "$stranger" ] || { kill "$stranger" 2>/dev/null && wait "$stranger" 2>/dev/null; } || true
  rm -rf "$work"
}
trap finish EXIT

use() { # FOLDER: start there and take its settings
  dir=$1
  "$stack" --dir "$dir" up
  settings=$("$stack" --dir "$dir" env)
  eval "$settings"
}

sql() { psql -X -q -tA -v ON_ERROR_STOP=1 -d "$SECKILL_DATABASE target_session_attrs=read-write" -c "$1"; }
stock() { redis-cli -s "${SECKILL_STOCK_REDIS#unix://}" "$@"; }
locks() { redis-cli -s "${SECKILL_REDIS#unix://}" "$@"; }
pid() { cut -d' ' -f1 "$dir/$1.id"; }
ids() { pid postgres; pid locks; pid stock; }

expect() { # WHAT WANTED GOT
  [ "$2" = "$3" ] || fail "$1: wanted '$2', got '$3'"
}

# A dead process may stay in the table for want of an init that collects it.
lives() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | grep -q '^[^ZX]'; }

kill_and_wait() { # PID...
  local one
  kill -KILL "$@"
  for one in "$@"; do while lives "$one"; do sleep 0.05; done; done
}

check_settings() {
  local name
  for name in fsync synchronous_commit full_page_writes data_checksums; do expect $name on "$(sql "SHOW $name")"; done
  expect listen_addresses '' "$(sql 'SHOW listen_addresses')"
  expect encoding UTF8 "$(sql 'SHOW server_encoding')"
  expect superuser f "$(sql 'SELECT rolsuper FROM pg_roles WHERE rolname = current_user')"
  expect owner seckill "$(sql "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'seckill'")"
  expect appendfsync always "$(stock config get appendfsync | tail -n 1)"
  expect appendonly yes "$(stock config get appendonly | tail -n 1)"
  expect policy noeviction "$(stock config get maxmemory-policy | tail -n 1)"
  expect 'locks: appendonly' no "$(locks config get appendonly | tail -n 1)"
  expect 'locks: save' '' "$(locks config get save | tail -n 1)"
  expect 'locks: port' 0 "$(locks config get port | tail -n 1)"
}

test_up_twice() {
  local before
  use "$work/short"
  before=$(ids)
  use "$work/short"
  expect 'the same processes' "$before" "$(ids)"
  "$stack" --dir "$dir" status || fail "status says that something is not running"
  check_settings
}

test_killed() {
  local before
  sql 'CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)'
  stock set kept 8 >/dev/null
  before=$(ids)
  # one process id a line
  # shellcheck disable=SC2086
  kill_and_wait $before
  "$stack" --dir "$dir" status && fail "status says that killed servers run"
  use "$dir"
  [ "$before" != "$(ids)" ] || fail "nothing was started"
  expect 'the row' 7 "$(sql 'SELECT n FROM kept')"
  expect 'the key' 8 "$(stock get kept)"
}

test_one_killed() {
  local before
  before=$(pid postgres)
  kill_and_wait "$(pid locks)"
  use "$dir"
  expect 'PostgreSQL untouched' "$before" "$(pid postgres)"
  expect 'locks answer' PONG "$(locks ping)"
}

start_stranger() {
  mkdir "$work/stranger"
  redis-server --port 0 --unixsocket "$work/stranger/redis.sock" --dir "$work/stranger" --save '' \
    >"$work/stranger/log" 2>&1 </dev/null &
  stranger=$!
  until [ "$(redis-cli -s "$work/stranger/redis.sock" ping 2>/dev/null)" = PONG ]; do
    kill -0 "$stranger" || fail "the stranger did not start"
    sleep 0.05
  done
}

# The files of a stopped stack say that the stranger's process is each of its servers.
test_stranger() {
  local name start
  "$stack" --dir "$dir" down
  start_stranger
  start=$(sed 's/.*) //' "/proc/$stranger/stat" | cut -d' ' -f20)
  for name in postgres locks stock; do echo "$stranger $start" >"$dir/$name.id"; done
  "$stack" --dir "$dir" status && fail "status takes the stranger for a server"
  "$stack" --dir "$dir" down
  expect 'the stranger after down' PONG "$(redis-cli -s "$work/stranger/redis.sock" ping)"
  # PostgreSQL by itself refuses to start while the process in its pid file lives
  for name in postgres locks stock; do echo "$stranger $start" >"$dir/$name.id"; done
  printf '%s\n%s\n' "$stranger" "$dir/data/postgres" >"$(data_folder)/postgres/postmaster.pid"
  use "$dir"
  expect 'the row after all that' 7 "$(sql 'SELECT n FROM kept')"
  expect 'the stranger after up' PONG "$(redis-cli -s "$work/stranger/redis.sock" ping)"
}

data_folder() { if [ -f "$dir/home" ]; then cat "$dir/home"; else echo "$dir/data"; fi; }

test_stopped() {
  local before one
  before=$(ids)
  kill -STOP "$(pid stock)"
  "$stack" --dir "$dir" down
  for one in $before; do ! lives "$one" || fail "process $one is still there"; done
  "$stack" --dir "$dir" status && fail "status says that stopped servers run"
  "$stack" --dir "$dir" down || fail "a second down"
}

test_purge() {
  local data
  use "$dir"
  expect 'the row after down and up' 7 "$(sql 'SELECT n FROM kept')"
  data=$(data_folder)
  touch "$dir/not-ours"
  "$stack" --dir "$dir" down --purge
  [ ! -e "$data" ] || fail "$data is still there"
  expect 'what purge leaves' not-ours "$(ls "$dir")"
  dir=''
}

check_other_folder() { # FOLDER: it works there, and nothing is left of it
  local sockets
  use "$1"
  sql 'SELECT 1' >/dev/null
  expect 'locks answer' PONG "$(locks ping)"
  sockets=$(dirname "${SECKILL_REDIS#unix://}")
  "$stack" --dir "$dir" down --purge
  [ ! -e "$sockets" ] || fail "$sockets is still there"
  [ ! -e "$1" ] || fail "$1 is still there"
  dir=''
}

test_long_folder() { check_other_folder "$work/$(printf 'x%.0s' {1..100})"; }
test_folder_with_spaces() { check_other_folder "$work/50% of a, b"; }

# Closed to every other user, as /root is.
test_closed_folder() {
  mkdir -m 700 "$work/closed"
  check_other_folder "$work/closed/stack"
}

# A file system that keeps no modes, as a Windows drive's: here chmod does nothing to what is in the folder.
test_folder_without_modes() {
  mkdir -p "$work/bin" "$work/flat"
  cat >"$work/bin/chmod" <<END
#!/bin/sh
case \$2 in "$work/flat"/*) exit 0 ;; esac
exec $(command -v chmod) "\$@"
END
  chmod 755 "$work/bin/chmod"
  PATH=$work/bin:$PATH check_other_folder "$work/flat/stack"
}

# RabbitMQ: on request, on ports of 127.0.0.1 that stay the same, with no epmd, and gone after down.
test_rabbitmq() {
  local url before one
  dir=$work/queue
  "$stack" --dir "$dir" up --with nothing-known 2>/dev/null && fail "took an unknown name"
  [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || return 0
  "$stack" --dir "$dir" up
  [[ $("$stack" --dir "$dir" env) != *SECKILL_AMQP* ]] || fail "RabbitMQ runs and nobody asked for it"
  "$stack" --dir "$dir" up --with rabbitmq
  url=$("$stack" --dir "$dir" env | grep SECKILL_AMQP)
  [[ $url == *amqp://seckill:*@127.0.0.1:* ]] || fail "the address is $url"
  before=$(pid rabbitmq)
  for one in $(ss -Hltn4p | awk -v p="pid=$before," 'index($0, p) { print $4 }'); do
    [[ $one == 127.0.0.1:* ]] || fail "RabbitMQ listens on $one"
  done
  kill_and_wait "$before"
  "$stack" --dir "$dir" up
  [ "$before" != "$(pid rabbitmq)" ] || fail "a killed RabbitMQ was not started again"
  expect 'the address' "$url" "$("$stack" --dir "$dir" env | grep SECKILL_AMQP)"
  before=$(pid rabbitmq)
  "$stack" --dir "$dir" down --purge
  ! lives "$before" || fail "RabbitMQ is still there"
  [ ! -e "$dir" ] || fail "$dir is still there"
  dir=''
}

# What stands in when another one fails: by name alone, one at a time stopped, killed and started, and gone after down.
# While processes are listed and signalled, the one that would collect their ids stands still: a find that looks.
watched() { # COMMAND...
  rm -f "$work/seen"
  mkdir -p "$work/bin"
  printf '#!/bin/sh\nsed "s/.*) //; s/ .*//" /proc/%s/stat >>%q 2>&1\nexec %s "$@"\n' "$(pid postgres)" "$work/seen" \
    "$(command -v find)" >"$work/bin/find"
  chmod 755 "$work/bin/find"
  PATH=$work/bin:$PATH "$@"
  expect "PostgreSQL's first process, while others are listed for $*" T "$(head -n 1 "$work/seen")"
}

test_doubles() {
  local settings before
  dir=$work/doubles
  "$stack" --dir "$dir" up --with standby,replica,sentinel
  settings=$("$stack" --dir "$dir" env)
  eval "$settings"
  expect 'the standby' t "$(psql -X -q -tA -d "$SECKILL_STANDBY" -c 'SELECT pg_is_in_recovery()')"
  expect 'the replica' PONG "$(redis-cli -s "${SECKILL_REPLICA#unix://}" ping)"
  expect 'the Sentinel' sentinel "$(redis-cli -s "${SECKILL_SENTINEL#unix://}" role | head -n 1)"
  expect 'the Sentinel, by its port' PONG "$(redis-cli -p "$(cat "$dir/sentinel.access")" ping)"

  sql 'CREATE TABLE kept (n int)'
  watched "$stack" --dir "$dir" signal postgres STOP
  timeout 1 psql -X -q -d "$SECKILL_DATABASE" -c 'SELECT 1' >/dev/null && fail "a stopped PostgreSQL has answered"
  "$stack" --dir "$dir" signal postgres CONT
  sql 'INSERT INTO kept VALUES (1)'

  watched "$stack" --dir "$dir" fsize postgres 0
  sql 'INSERT INTO kept SELECT generate_series(1, 100000)' 2>/dev/null && fail "a full disk took rows"
  "$stack" --dir "$dir" fsize locks 0 2>/dev/null && fail "a Redis was given a limit, which would end it"

  before=$(pid locks)
  while pid_lives postgres; do sleep 0.1; done
  "$stack" --dir "$dir" signal locks KILL
  "$stack" --dir "$dir" signal locks KILL 2>/dev/null && fail "one that is gone was killed"
  "$stack" --dir "$dir" start postgres
  expect 'the rows' 1 "$(sql 'SELECT count(*) FROM kept')"
  watched "$stack" --dir "$dir" signal postgres KILL
  "$stack" --dir "$dir" start postgres
  expect 'the rows' 1 "$(sql 'SELECT count(*) FROM kept')"
  ! lives "$before" || fail "locks was not killed, or was started with PostgreSQL"
  "$stack" --dir "$dir" start rabbitmq 2>/dev/null && fail "started what was never here"

  fails_over postgres standby
  "$stack" --dir "$dir" signal standby STOP
  fails_over standby postgres
  "$stack" --dir "$dir" signal postgres KILL
  fails_over postgres standby
  "$stack" --dir "$dir" down
  "$stack" --dir "$dir" up
  takes_writes standby
  for _ in $(seq 200); do [ "$(followers)" != 1 ] || break; sleep 0.1; done
  expect followers 1 "$(followers)"
  before=$(pid standby)
  "$stack" --dir "$dir" down --purge
  ! lives "$before" || fail "the standby is still there"
  [ ! -e "$dir" ] || fail "$dir is still there"
  dir=''
}

followers() { sql 'SELECT count(*) FROM pg_stat_replication'; }

rows=1
takes_writes() { # SERVER: and not the other, and has all that was written
  expect 'who takes writes' "$([ "$1" = standby ] && echo 5433 || echo 5432)" "$(sql 'SHOW port')"
  expect 'the rows' $rows "$(sql 'SELECT count(*) FROM kept')"
  sql 'INSERT INTO kept VALUES (2)'
  rows=$((rows + 1))
}

fails_over() { # OLD NEW
  expect "the failover of $1" "stack.sh: $2 takes writes, and $1 follows it" "$("$stack" --dir "$dir" failover)"
  expect followers 1 "$(followers)"
  takes_writes "$2"
}

pid_lives() { lives "$(pid "$1")"; }

# The locks elsewhere: each as its own server, one killed is started again at the same address, all gone after down.
test_locks_elsewhere() {
  local settings before one names=redlock
  dir=$work/elsewhere
  ! command -v memcached >/dev/null || names+=,memcached
  [ ! -f /usr/share/java/zookeeper.jar ] || names+=,zookeeper
  "$stack" --dir "$dir" up --with "$names"
  settings=$("$stack" --dir "$dir" env)
  before=$(for one in "$dir"/{redlock1,redlock2,redlock3,memcached,zookeeper}.id; do
    [ ! -f "$one" ] || cut -d' ' -f1 "$one"
  done)
  if [ -f "$dir/zookeeper.id" ]; then
    for one in $(ss -Hltnp | awk -v p="pid=$(pid zookeeper)," 'index($0, p) { print $4 }'); do
      [[ $one == *127.0.0.1?(]):* ]] || fail "ZooKeeper listens on $one"
    done
  fi
  # shellcheck disable=SC2086  # a word an id
  kill_and_wait $before
  "$stack" --dir "$dir" up
  expect 'the addresses' "$settings" "$("$stack" --dir "$dir" env)"
  "$stack" --dir "$dir" status >/dev/null || fail "one was not started again"
  before=$(pid redlock2)
  "$stack" --dir "$dir" down --purge
  ! lives "$before" || fail "a node is still there"
  [ ! -e "$dir" ] || fail "$dir is still there"
  dir=''
}

chmod 755 "$work"
for t in up_twice killed one_killed stranger stopped purge long_folder folder_with_spaces closed_folder \
  folder_without_modes rabbitmq doubles locks_elsewhere; do
  echo "test_stack: $t"
  "test_$t"
done
echo "test_stack: all good"
