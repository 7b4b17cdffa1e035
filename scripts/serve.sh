#!/usr/bin/env bash
# A server on 127.0.0.1:8080 in the foreground, on a private PostgreSQL and Redis, with a product to buy and the page.
# Installs what is missing and builds first. Ctrl-C stops the server, once every accepted order is answered, and the
# databases.
#
#   serve.sh [--port N] [--instances N] [--cells N] [FLAG OF seckill-server]...
#
# With --instances: that many servers on one database, behind HAProxy (docker/haproxy.cfg, with these addresses). What
# is right in one process alone, local-lock, is then seen to fail. With --cells: that many PostgreSQL, each with a standby,
# and Redis, each with its instances (ops/haproxy/cells.cfg, docs/OPERATIONS.md).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/stack.d/balancer.sh"

port=8080 instances=1 cells=1
while :; do
  case ${1:-} in
    --port=* | --instances=* | --cells=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    --port) port=${2:-} ;;
    --instances) instances=${2:-} ;;
    --cells) cells=${2:-} ;;
    *) break ;;
  esac
  shift 2 || die "$1 takes a number"
done
[[ $port =~ ^[0-9]{1,5}$ ]] || die "--port takes a number, not '$port'"
[[ $instances =~ ^[1-9]$ ]] || die "--instances takes 1 to 9"
[[ $cells =~ ^[1-9]$ ]] || die "--cells takes 1 to 9"
alone=''   # one server, and no proxy
[ "$instances" != 1 ] || [ "$cells" != 1 ] || alone=1
[ -n "$alone" ] || [ "$port" != 0 ] || die "--instances and --cells want a --port of their own"

# So that the page's race can stop a holder past its lease, which is short for that; other times are the reader's own.
case " $*" in
  *' --lock-ttl-ms'* | *' --work-timeout-ms'* | *' --stall-ms'*) ;;
  *) set -- --stall-ms 500 --lock-ttl-ms 3000 --work-timeout-ms 2500 "$@" ;;
esac

server=$root/build/release/server/seckill-server
run=$root/.stack/serve
servers=() generated=''

# The address is what a server says on its first line: another port, where a flag says so.
start_server() { # NUMBER LISTEN FLAG...
  local said=$run/server-$1.out line=''
  : >"$said"
  "$server" --listen "${@:2}" >"$said" &
  servers+=($!)
  until read -r line <"$said"; do
    if ! kill -0 "${servers[-1]}" 2>/dev/null; then
      wait "${servers[-1]}" || exit $?
      exit 1
    fi
    sleep 0.05
  done
  url=${line#listening on }
}

start_instances() { # CELL FLAG...
  local number
  for ((number = 1; number <= instances; number++)); do
    start_server "$1-$number" 127.0.0.1:0 "${@:2}"
    behind[$1]+=" $url"
  done
}

start_cells() { # FLAG...
  local cell
  for ((cell = 1; cell <= cells; cell++)); do
    start_cell_stack "$root/.stack/cells/$cell"
    start_instances $cell --cell "$cell/$cells" "$@"
  done
}

put_product() { # the answer of curl goes with it when it fails
  local token=${SECKILL_ADMIN_TOKEN:-} header=()
  [ -z "${SECKILL_ADMIN_TOKEN_FILE:-}" ] || token=$(cat "$SECKILL_ADMIN_TOKEN_FILE")
  [ -z "$token" ] || header=(-H "Authorization: Bearer $token")
  curl -sS --fail-with-body --retry 5 --max-time 60 -X PUT "$url/products/1" "${header[@]}" -d '{"name": "first", "stock": 100}'
}

# What to type for another sale, where a token is wanted with how a shell gets it: the reader's own is not printed.
# shellcheck disable=SC2016  # the variables are the reader's shell's
offer_sale() {
  local flag='-H "Authorization: Bearer $token" '
  if [ -n "$generated" ]; then
    echo "  token=$generated"
  elif [ -n "${SECKILL_ADMIN_TOKEN_FILE:-}" ]; then
    echo "  token=\$(cat ${SECKILL_ADMIN_TOKEN_FILE@Q})"
  elif [ -n "${SECKILL_ADMIN_TOKEN:-}" ]; then
    echo '  token=$SECKILL_ADMIN_TOKEN'
  else
    flag=''
  fi
  echo "  curl -X PUT $flag$url/products/1 -d '{\"stock\": 100}'"
}

# A signal for the script is one for each server; the proxy goes when they have.
stop_servers() {
  interrupted=1
  [ ${#servers[@]} -gt 0 ] || exit 130
  kill -s TERM "${servers[@]}" 2>/dev/null || true
}

wait_servers() { # the last exit status that is not 0
  local code=0
  for child in "${servers[@]}"; do wait_child || code=$?; done
  stop_proxies
  servers=()
  return $code
}

end() {
  stop_proxies
  [ ${#servers[@]} -eq 0 ] || { stop_servers; wait_servers || true; }
  leave_stack
  for ((cell = 2; cell <= cells; cell++)); do "$stack" --dir "$root/.stack/cells/$cell" down; done
}

packages=("${build_packages[@]}" "${run_packages[@]}")
[ -n "$alone" ] || packages+=(haproxy:haproxy)
install_packages "${packages[@]}"
build release seckill-server
"$server" --print-schema "$@" >/dev/null # a mistyped flag or strategy ends it before anything is started
trap stop_servers INT TERM HUP
if [ "$cells" = 1 ]; then use_stack "$root/.stack"; else use_stack "$root/.stack/cells/1"; fi
trap end EXIT
mkdir -p "$run"
if [ -n "$alone" ]; then
  start_server 1 "127.0.0.1:$port" "$@"
else
  [ -n "${SECKILL_ADMIN_TOKEN:-}${SECKILL_ADMIN_TOKEN_FILE:-}" ] || { make_token && generated=$SECKILL_ADMIN_TOKEN; }
  if [ "$cells" = 1 ]; then
    start_instances 1 "$@"
    { write_proxy "$root/docker/haproxy.cfg" "$port" && write_servers 1; } >"$run/haproxy.cfg"   # the last section is theirs
  else
    start_cells "$@"
    write_cells "$run" "$port" "$cells" </dev/null
  fi
  start_proxy "$run" "$port"
fi
offer="product 1 has 100 to sell"
if curl -s --fail -o /dev/null --max-time 10 "$url/products/1"; then
  offer="product 1 is there from before, and its orders"
else
  answer=$(put_product) || die "the product could not be made: $answer"
fi
cat <<END
listening on $url
$offer. Buy one:

  curl -d '{"product_id": 1, "user_id": 42}' '$url/orders?strategy=redis-queue'

begin its sale anew, without the old orders:

$(offer_sale)

or open the page, race two strategies in it, and stop the holder of a lock:

  $url/${generated:+#token=$generated}

$([ -n "$alone" ] || echo "seckill-loadtest run --balancer $url wants --server $(tr -s ' ' , <<<"${behind[*]}" | sed 's/^,//')"
[ "$instances" = 1 ] || echo "$instances servers share the database: race local-lock. "
[ "$cells" = 1 ] || echo "A cell's page and lists are below $url/cells/01/ and so on, its database: scripts/stack.sh --dir .stack/cells/1 env;
its primary dies, and its standby takes over: scripts/stack.sh --dir .stack/cells/1 failover. "
)Ctrl-C stops all of it.
END
wait_servers
