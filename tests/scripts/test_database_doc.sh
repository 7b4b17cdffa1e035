#!/usr/bin/env bash
# What docs/DATABASE.md says of rights, typed as it stands there: the SQL as a superuser of a stock PostgreSQL, the
# commands as a shop's operator. Only the host is another, and the servers listen on a free port and are stopped.
set -euo pipefail
doc=$1 server=$2 loadtest=$3
database=shop work=$(mktemp -d) pid='' at=0

export PGHOST PGDATABASE=$database
PGHOST=$(sed -nE 's/.*host=([^ ]+).*/\1/p' <<<"$SECKILL_TEST_DATABASE")

fail() { echo "$*" >&2; exit 1; }

drop() {
  psql -XAqtd postgres -U postgres -v ON_ERROR_STOP=1 <<<"
    SET client_min_messages = error; DROP DATABASE IF EXISTS $database WITH (FORCE);
    DROP ROLE IF EXISTS shop; DROP ROLE IF EXISTS shop_owner; DROP ROLE IF EXISTS auditor;"
}

leave() {
  [ -z "$pid" ] || kill -s KILL "$pid" 2>/dev/null || true
  rm -rf "$work"
  drop
}

start_over() {
  drop
  psql -XAqtd postgres -U postgres -c "CREATE DATABASE $database"
  # The shop's own, which are no obstacle.
  psql -XAqtU postgres -v ON_ERROR_STOP=1 -c 'CREATE TABLE public.orders (id int)' -c 'CREATE TABLE public.product (id int)'
}

# The next block of the section, which must be in that language.
block() { # LANGUAGE
  at=$((at + 1))
  awk -v at="$at" -v language="$1" '
    /^## / { inside = $0 == "## Rights and schema" }
    inside && /^```[a-z]/ { n++; if (n == at) { if ($0 != "```" language) exit 1; printing = 1 } next }
    /^```$/ { printing = 0 }
    printing { print; lines++ }
    END { if (!lines) exit 1 }' "$doc" >"$work/block" || fail "block $at of the section is no $1"
}

run_sql() {
  block sql
  psql -XqU postgres -v ON_ERROR_STOP=1 -f "$work/block"
}

# A server is put into the background, and sells once.
run_commands() {
  local line url
  block sh
  while read -r line; do
    line=${line//host=db/host=$PGHOST}
    if [[ $line == *"seckill-server"*"--database"* ]]; then
      eval "exec $line --listen 127.0.0.1:0" >"$work/out" 2>"$work/log" &
      pid=$!
      timeout 60 sh -c "until grep -q . '$work/out'; do kill -0 $pid && sleep 0.05; done" || fail "$line: $(cat "$work/log")"
      url=$(sed -n 's/^listening on //p' "$work/out")
      # It listens before a PostgreSQL that is slow to make the tables is ready.
      curl -sS --fail --retry 60 --retry-delay 1 --retry-all-errors "$url/readyz" >/dev/null ||
        fail "$line: $(curl -sS "$url/readyz") $(cat "$work/log")"
      curl -sS --fail-with-body -X PUT -d '{"stock": 2}' "$url/products/1" ||
        fail "$line: $(curl -sS "$url/readyz") $(cat "$work/log")"
      curl -sS --fail-with-body -d '{"product_id": 1, "user_id": 42}' "$url/orders"
      echo
      kill -s TERM "$pid"
      wait "$pid" || fail "$line: exit status $?: $(cat "$work/log")"
      pid=''
    else
      eval "$line" || fail "$line"
    fi
  done <"$work/block"
}

trap leave EXIT
PATH=$(dirname "$server"):$(dirname "$loadtest"):$PATH
start_over
run_sql
run_commands
start_over
run_sql
run_commands
run_sql
run_commands
