# Part of stack.sh: servers that stand in when another one fails, for tests of a failover.
#
# standby: a PostgreSQL that streams from the primary, in the same folder of sockets at port 5433. SECKILL_STANDBY_FROM,
# a conninfo, leads to the primary another way (through a relay that can be stalled). It is asynchronous until somebody
# names it in synchronous_standby_names.
# replica: a Redis without data that follows nobody until it is told (REPLICAOF), which takes a port: the primaries here
# have none, so that whoever wants it to follow one puts a relay in front.
# sentinel: a Redis Sentinel that watches nobody until it is told (SENTINEL MONITOR); its port is in DIR/sentinel.access.

has_standby() { :; }
has_replica() { :; }
has_sentinel() { :; }

copy_primary() { # BIN
  local from=${SECKILL_STANDBY_FROM:-host=$sockets port=5432}
  [ ! -f "$home/standby/PG_VERSION" ] || return 0
  "${as_owner[@]}" rm -rf "$home/standby.new" "$home/standby"
  "${as_owner[@]}" "$1/pg_basebackup" -D "$home/standby.new" -d "$from user=postgres application_name=standby" \
    -c fast -X stream -R >"$dir/standby.log" 2>&1 || { tail "$dir/standby.log" >&2; die "pg_basebackup failed"; }
  "${as_owner[@]}" mv "$home/standby.new" "$home/standby"
}

up_standby() {
  local bin
  bin=$(find_postgres)
  launched=
  if ! pid_of standby >/dev/null; then
    wait_gone standby 20 || die "processes of a killed standby are still in $home/standby"
    copy_primary "$bin"
    launch_postgres "$bin" standby 5433
  fi
  wait_answer standby 120 "$bin/pg_isready" -h "$sockets" -p 5433 -U postgres -d postgres
}

env_standby() { printf 'export %s=%q\n' SECKILL_STANDBY "host=$sockets port=5433 dbname=seckill user=seckill"; }

up_replica() { up_redis replica --appendonly no; }
env_replica() { printf 'export %s=%q\n' SECKILL_REPLICA "unix://$sockets/replica.sock"; }

up_sentinel() {
  launched=
  if ! pid_of sentinel >/dev/null; then
    wait_gone sentinel 20 || die "processes of a killed Sentinel are still in $home/sentinel"
    make_private "$home/sentinel"
    [ -f "$home/sentinel/sentinel.conf" ] || : | put "$home/sentinel/sentinel.conf"
    [ -f "$dir/sentinel.access" ] || free_port >"$dir/sentinel.access"
    launch sentinel "$(command -v "$(redis_program)")" "$home/sentinel/sentinel.conf" --sentinel --bind 127.0.0.1 \
      --port "$(cat "$dir/sentinel.access")" --unixsocket "$sockets/sentinel.sock" --unixsocketperm 700 \
      --dir "$home/sentinel" --daemonize no
  fi
  wait_answer sentinel 60 redis_answers "$sockets/sentinel.sock"
}

env_sentinel() { printf 'export %s=%q\n' SECKILL_SENTINEL "unix://$sockets/sentinel.sock"; }
