# Part of serve.sh and failover.sh: HAProxy before the servers of one database (docker/haproxy.cfg) or of several cells
# (ops/haproxy/cells.cfg), with these addresses, and a cell's databases. behind[CELL] has the cell's servers, by their URLs.
# shellcheck shell=bash disable=SC2034,SC2154  # theirs

source "$root/scripts/stack.d/ports.sh"

behind=() proxies=()

# The project's own configuration without what is Docker's, its servers, and a line for every order.
# On a machine that is shared with the load a check may take longer than its interval.
write_proxy() { # FILE PORT
  sed -e "s/^  bind :8000/  bind 127.0.0.1:$2/" -e '/^resolvers /,/^$/d' -e '/^frontend alive/,/^$/d' \
    -e 's/ resolvers .*//' -e 's/^  timeout connect .*/&\n  timeout check 5s/' -e '/^  server /d' -e '/^  log /d' -e '/httplog/d' "$1"
}

write_servers() { # CELL
  local number=0 url
  for url in ${behind[$1]}; do
    number=$((number + 1))
    echo "  server server-$number ${url#http://}"
  done
}

# Slots are dealt to the cells in turn; a backend a cell.
write_cells() { # FOLDER PORT CELLS; lines of products.map are read from stdin
  local cell slot
  { cat "$root/ops/haproxy/products.map" -; } >"$1/products.map"
  for slot in {0..15}; do printf '%d %02x\n' "$slot" $((slot % $3 + 1)); done >"$1/slots.map"
  {
    write_proxy "$root/ops/haproxy/cells.cfg" "$2" | sed -e '/^# An instance gets calls/,/^# A number that no/d'
    for ((cell = 1; cell <= $3; cell++)); do
      printf 'backend cell-%02x\n  %s\n  %s\n' "$cell" 'http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host seckill' \
        "http-check expect string '\"ready\": true, \"cell\": \"$cell/'"
      write_servers $cell
    done
  } >"$1/haproxy.cfg"
}

start_proxy() { # FOLDER PORT: to url
  local tries proxy
  # In a session of its own: a Ctrl-C is not for it, orders may be under way through it.
  PATH=$PATH:/usr/sbin setsid haproxy -db -q -f "$1/haproxy.cfg" 8>&- &
  proxy=$!
  proxies+=($proxy)
  url=http://127.0.0.1:$2
  for ((tries = 0; tries < 100; tries++)); do
    kill -0 $proxy 2>/dev/null || die "HAProxy has not started"
    curl -s --fail -o /dev/null --max-time 5 --noproxy '*' "$url/readyz" && return
    sleep 0.1
  done
  die "HAProxy has no server"
}

stop_proxies() {
  local proxy
  for proxy in "${proxies[@]}"; do { kill -s TERM "$proxy" 2>/dev/null && wait "$proxy"; } || true; done
  proxies=()
}

# Behind a proxy nobody is on the machine itself: admin calls need a token.
make_token() { export SECKILL_ADMIN_TOKEN; SECKILL_ADMIN_TOKEN=$(od -An -N 16 -tx1 /dev/urandom | tr -d ' \n'); }

as_postgres() { psql -X -q -tA "${1/user=seckill/user=postgres} target_session_attrs=read-write" "${@:2}"; } # DATABASE WORDS

# A cell's stack, whose PostgreSQL has a standby that commits wait for; into the environment. The standby is a copy of what
# has its name already, and so is every one after it.
start_cell_stack() { # DIR [NAMES]
  local settings
  "$stack" --dir "$1" up 8>&-
  settings=$("$stack" --dir "$1" env)
  eval "$settings"
  as_postgres "$SECKILL_DATABASE" -o /dev/null -c "ALTER SYSTEM SET synchronous_standby_names = 'standby'" \
    -c 'SELECT pg_reload_conf()'
  "$stack" --dir "$1" up --with "standby${2:+,$2}" 8>&-
  settings=$("$stack" --dir "$1" env)
  eval "$settings"
}
