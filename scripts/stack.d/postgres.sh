# Part of stack.sh: PostgreSQL, and the shop's database in it.

# The newest PostgreSQL there is, or the one that made the data.
find_postgres() {
  local made='' bin
  [ ! -f "$home/postgres/PG_VERSION" ] || made=$(cat "$home/postgres/PG_VERSION")
  while read -r bin; do
    if [ -x "$bin/postgres" ] && [[ -z $made || $bin = */"$made"/bin ]]; then echo "$bin"; return; fi
  done < <(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV)
  [ -z "$made" ] || die "the data is PostgreSQL $made's, which is not installed; down --purge throws it away"
  die "no PostgreSQL server in /usr/lib/postgresql: apt-get install postgresql"
}

make_cluster() { # BIN
  [ ! -f "$home/postgres/PG_VERSION" ] || return 0
  "${as_owner[@]}" rm -rf "$home/postgres.new" "$home/postgres"
  "${as_owner[@]}" "$1/initdb" --pgdata "$home/postgres.new" --username postgres --auth trust --encoding UTF8 \
    --locale C.UTF-8 --data-checksums >"$dir/initdb.log" 2>&1 || { tail "$dir/initdb.log" >&2; die "initdb failed"; }
  "${as_owner[@]}" mv "$home/postgres.new" "$home/postgres"
}

# PostgreSQL trusts a pid file while any process has that id; after a kill or a reboot that may be a stranger.
drop_stale_pid_file() { # SERVER PORT
  local file pid
  for file in "$home/$1/postmaster.pid" "$sockets/.s.PGSQL.$2.lock"; do
    [ -f "$file" ] || continue
    pid=$(head -n 1 "$file")
    if [ -d "/proc/$pid" ]; then rm -f "$file"; fi
  done
}

launch_postgres() { # BIN SERVER PORT
  drop_stale_pid_file "$2" "$3"
  launch "$2" "$1/postgres" -D "$home/$2" -c listen_addresses= -c unix_socket_directories="$sockets" \
    -c unix_socket_permissions=0700 -c port="$3" -c fsync=on -c synchronous_commit=on -c full_page_writes=on \
    -c shared_buffers=256MB -c max_wal_size=4GB -c max_connections=200 -c wal_retrieve_retry_interval=200ms
}

start_postgres() { # BIN
  wait_gone postgres 20 || die "processes of a killed PostgreSQL are still in $home/postgres"
  make_cluster "$1"
  launch_postgres "$1" postgres 5432
}

query() { # BIN DATABASE SQL [PORT]: waits for no standby
  PGOPTIONS=-csynchronous_commit=local "$1/psql" -X -q -tA -v ON_ERROR_STOP=1 -h "$sockets" -p "${4:-5432}" -U postgres -d "$2" -c "$3"
}

takes_writes() { [ ! -f "$home/$1/standby.signal" ]; } # SERVER: dead, or standing still, too

make_database() { # BIN
  [ -n "$(query "$1" postgres "SELECT 1 FROM pg_roles WHERE rolname = 'seckill'")" ] ||
    query "$1" postgres "CREATE ROLE seckill LOGIN"
  [ -n "$(query "$1" postgres "SELECT 1 FROM pg_database WHERE datname = 'seckill'")" ] ||
    query "$1" postgres "CREATE DATABASE seckill OWNER seckill"
  # seckill-bench makes log files, asks for checkpoints and holds flushes back
  query "$1" postgres "SET client_min_messages = warning; GRANT pg_checkpoint TO seckill"
  query "$1" postgres "GRANT SET ON PARAMETER commit_delay TO seckill"
  query "$1" seckill "GRANT EXECUTE ON FUNCTION pg_switch_wal() TO seckill"
}

up_postgres() {
  local bin
  bin=$(find_postgres)
  launched=
  pid_of postgres >/dev/null || start_postgres "$bin"
  wait_answer postgres 120 "$bin/pg_isready" -h "$sockets" -U postgres -d postgres
  ! takes_writes postgres || make_database "$bin"
}
