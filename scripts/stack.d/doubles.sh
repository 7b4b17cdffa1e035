# Part of stack.sh: servers that stand in when another one fails, for tests of a failover.
#
# standby: a PostgreSQL that streams from the primary, in the same folder of sockets at port 5433. SECKILL_STANDBY_FROM,
# a conninfo, leads to the primary another way (through a relay that can be stalled). It is asynchronous until somebody
# names it in synchronous_standby_names. `failover` promotes it.
# replica: a Redis without data that follows nobody until it is told (REPLICAOF), which takes a port: the primaries here
# have none, so that whoever wants it to follow one puts a relay in front.
# sentinel: a Redis Sentinel that watches nobody until it is told (SENTINEL MONITOR); its port is in DIR/sentinel.access.

has_standby() { :; }
has_replica() { :; }
has_sentinel() { :; }

copy_primary() { # BIN SERVER CONNINFO: SERVER becomes a standby of what is there
  "${as_owner[@]}" rm -rf "$home/$2.new"
  "${as_owner[@]}" "$1/pg_basebackup" -D "$home/$2.new" -d "$3 user=postgres application_name=standby" \
    -c fast -X stream -R >"$dir/$2.log" 2>&1 || { tail "$dir/$2.log" >&2; die "pg_basebackup failed"; }
  "${as_owner[@]}" rm -rf "$home/$2"
  "${as_owner[@]}" mv "$home/$2.new" "$home/$2"
}

up_standby() {
  local bin
  bin=$(find_postgres)
  launched=
  if ! pid_of standby >/dev/null; then
    wait_gone standby 20 || die "processes of a killed standby are still in $home/standby"
    [ -f "$home/standby/PG_VERSION" ] || copy_primary "$bin" standby "${SECKILL_STANDBY_FROM:-host=$sockets port=5432}"
    launch_postgres "$bin" standby 5433
  fi
  wait_answer standby 120 "$bin/pg_isready" -h "$sockets" -p 5433 -U postgres -d postgres
}

# Both, as a server wants them: it finds the one that takes writes.
env_standby() {
  printf 'export %s=%q\n' SECKILL_STANDBY "host=$sockets port=5433 dbname=seckill user=seckill" \
    SECKILL_DATABASE "host=$sockets,$sockets port=5432,5433 dbname=seckill user=seckill"
}

port_of() { if [ "$1" = standby ]; then echo 5433; else echo 5432; fi; } # SERVER
is_followed() { query "$1" postgres 'SELECT state FROM pg_stat_replication' "$(port_of "$2")" | grep -qx streaming; } # BIN SERVER

# What a failover does by hand: the primary, where it is not dead already, is killed, the standby promoted, and the dead
# one copied anew as the standby. One that stands still goes on beside the new primary first, for a second.
failover() {
  local bin old=postgres new=standby
  known standby
  bin=$(find_postgres)
  if takes_writes standby; then old=standby new=postgres; fi
  pid_of $new >/dev/null || die "$new, which is to take over, is not running"
  stands_still $old || ! pid_of $old >/dev/null || signal $old KILL
  [ "$(query "$bin" postgres 'SELECT pg_promote()' "$(port_of $new)")" = t ] || die "$new is not promoted; its log is $dir/$new.log"
  if stands_still $old; then
    signal $old CONT
    sleep 1
    signal $old KILL
  fi
  copy_primary "$bin" $old "host=$sockets port=$(port_of $new)"
  start_one $old
  wait_answer $old 60 is_followed "$bin" $new
  say "$new takes writes, and $old follows it"
}

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
