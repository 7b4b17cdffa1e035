# Part of stack.sh: a MariaDB, for examples/mariadb alone; no strategy of ours needs one. Its socket is
# SECKILL_MARIADB, user seckill, database seckill, no password: the folder of sockets is the owner's alone.
# Durable as it stands (innodb_flush_log_at_trx_commit=1), without a binary log. It reads no file of settings.

find_mariadbd() { PATH=$PATH:/usr/sbin command -v mariadbd; }
has_mariadb() { find_mariadbd >/dev/null && command -v mariadb-install-db mariadb >/dev/null; }

make_mariadb() {
  [ ! -d "$home/mariadb/mysql" ] || return 0
  "${as_owner[@]}" rm -rf "$home/mariadb.new" "$home/mariadb"
  "${as_owner[@]}" mariadb-install-db --no-defaults --datadir="$home/mariadb.new" --skip-test-db \
    --auth-root-authentication-method=normal >"$dir/mariadb.log" 2>&1 ||
    { tail "$dir/mariadb.log" >&2; die "mariadb-install-db failed"; }
  "${as_owner[@]}" mv "$home/mariadb.new" "$home/mariadb"
}

mariadb_query() { mariadb --no-defaults --socket="$sockets/mariadb.sock" --user=root --execute="$1"; }

up_mariadb() {
  launched=
  if ! pid_of mariadb >/dev/null; then
    wait_gone mariadb 20 || die "processes of a killed MariaDB are still in $home/mariadb"
    make_mariadb
    launch mariadb "$(find_mariadbd)" --no-defaults --datadir="$home/mariadb" --socket="$sockets/mariadb.sock" \
      --pid-file="$home/mariadb/mariadbd.pid" --skip-networking --innodb-buffer-pool-size=64M --max-connections=200
  fi
  wait_answer mariadb 120 mariadb_query 'SELECT 1'
  mariadb_query "CREATE DATABASE IF NOT EXISTS seckill; CREATE USER IF NOT EXISTS seckill@localhost;
    GRANT ALL ON seckill.* TO seckill@localhost"
}

env_mariadb() { printf 'export %s=%q\n' SECKILL_MARIADB "$sockets/mariadb.sock"; }
