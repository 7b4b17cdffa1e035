#!/usr/bin/env bash
# One server on 127.0.0.1:8080 in the foreground, on a private PostgreSQL and Redis, with a product to buy. Installs
# what is missing and builds first. Ctrl-C stops the server, once every accepted order is answered, and the databases.
#
#   serve.sh [--port N] [FLAG OF seckill-server]...
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

port=8080
if [ "${1:-}" = --port ]; then
  port=${2:?--port takes a number}
  shift 2
fi

# The address is what the server says on its first line: another port, where a flag says so.
start_server() {
  exec 3< <(exec "$root/build/release/server/seckill-server" --listen "127.0.0.1:$port" "$@")
  child=$!
  read -r line <&3 || { wait "$child" || exit $?; exit 1; }
  url=${line#listening on }
}

put_product() { # the answer of curl goes with it when it fails
  local header=()
  [ -z "${SECKILL_ADMIN_TOKEN:-}" ] || header=(-H "Authorization: Bearer $SECKILL_ADMIN_TOKEN")
  curl -sS --fail-with-body --max-time 10 -X PUT "$url/products/1" "${header[@]}" -d '{"name": "first", "stock": 100}'
}

install_packages "${build_packages[@]}" "${run_packages[@]}"
build release seckill-server
trap pass_on INT TERM HUP
use_stack "$root/.stack"
start_server "$@"
if ! answer=$(put_product); then
  pass_on
  wait_child || true
  die "the product could not be made: $answer"
fi
cat <<END
$line
product 1 has 100 to sell. Buy one:

  curl -d '{"product_id": 1, "user_id": 42}' '$url/orders?strategy=redis-queue'

Ctrl-C stops the server and its databases.
END
wait_child
