#!/usr/bin/env bash
# Builds the image and starts docker-compose.yml as a user would, sells through HAProxy, stops a server in mid-sale,
# compares the books, looks at the servers through Prometheus, sells with every backend of the profile `all` and in
# two cells, and takes everything down again.
#
#   compose-check.sh            a Docker engine of its own, which it starts, and ends with all that it has made; the
#                               images it makes of Debian's packages, with nothing from an image registry: the same
#                               programs, in the versions that Debian has. Needs root. Two minutes and more.
#   compose-check.sh --engine   the Docker engine that is there (DOCKER_HOST), and the images that it has or pulls
#   --suite NAME                the Debian release of the images, in front of that: bookworm, trixie
#
# Grafana is left out where the images are made here, because Debian has no package of it.
#
# It works on a copy of the checkout, as a compose project of its own on a free port. What it finds is printed; the
# first thing that is wrong ends it, with the containers' last words and exit status 1.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

suite=bookworm engine_given=
while [ $# -gt 0 ]; do
  case $1 in
    --engine) engine_given=yes; shift ;;
    --suite) suite=${2:?--suite takes a release of Debian}; shift 2 ;;
    *) sed -n '2,17s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
  esac
done

readonly stock=600 buyers=8 orders=900
work=$(mktemp -d "${TMPDIR:-/tmp}/seckill-compose.XXXXXX")
readonly work checkout=$work/checkout
engine='' started='' buying=()

# --- an engine of its own ---

# Its bridge, its rules and its forwarding are the machine's: they are put back at the end.
start_engine() {
  local table
  ! ip link show docker0 >/dev/null 2>&1 || die "a Docker engine runs here already: --engine takes that one"
  for table in filter nat; do   # a table that no one has used yet is saved when it has been looked at
    iptables -t $table -n -L >/dev/null
    iptables-save -t $table
  done >"$work/rules"
  cat /proc/sys/net/ipv4/ip_forward >"$work/forward"
  echo '{}' >"$work/daemon.json"
  dockerd --config-file "$work/daemon.json" --data-root "$work/data" --exec-root "$work/exec" \
    --pidfile "$work/pid" -H "unix://$work/socket" >"$work/engine.log" 2>&1 &
  engine=$!
  export DOCKER_HOST=unix://$work/socket
  wait_until 30 "the Docker engine does not start: $work/engine.log" docker info
}

stop_engine() {
  [ -n "$engine" ] || return 0
  kill -s TERM "$engine" 2>/dev/null || true
  wait "$engine" || true
  ip link delete docker0 2>/dev/null || true
  iptables-restore <"$work/rules"
  cat "$work/forward" >/proc/sys/net/ipv4/ip_forward
}

# Where a registry's images would be pulled: the same programs from Debian's packages, started by what the environment
# says, as far as docker-compose.yml says it.
make_images() {
  local image
  say "making the images that Docker would pull, of Debian $suite's packages"
  debootstrap --variant=minbase "$suite" "$work/tree" >"$work/debootstrap.log" 2>&1 ||
    die "debootstrap: $(tail -n 3 "$work/debootstrap.log")"
  tar -C "$work/tree" --exclude=./var/cache/apt/archives/*.deb -c . | docker import - "debian:$suite-slim" >/dev/null
  rm -rf "$work/tree"
  for image in postgres redis haproxy prometheus memcached zookeeper rabbitmq; do
    mkdir "$work/$image"
    "entrypoint_of_$image" >"$work/$image/entrypoint"
    chmod 755 "$work/$image/entrypoint"
    { echo "FROM debian:$suite-slim"
      echo "RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(packages_of $image)"
      echo "COPY entrypoint /"
      echo 'ENTRYPOINT ["/entrypoint"]'
    } >"$work/$image/Dockerfile"
    docker build -q -t "$(image_of $image)" "$work/$image" >/dev/null || die "no image for $image could be made"
  done
}

image_of() { sed -nE "s|^ *image: (([a-z]+/)?$1:.*)|\\1|p" "$checkout/docker-compose.yml" | head -n 1; }
packages_of() {
  case $1 in
    redis) echo redis-server redis-tools ;;
    postgres) echo postgresql ;;
    rabbitmq) echo rabbitmq-server ;;
    *) echo "$1" ;;
  esac
}

entrypoint_of_postgres() {
  cat <<'END'
#!/bin/bash
set -euo pipefail
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH data=/var/lib/postgresql/data
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$data"
  chown postgres: "$data" /var/run/postgresql
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ ! -s "$data/PG_VERSION" ]; then
  # shellcheck disable=SC2086
  initdb -D "$data" -U "$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth-local=trust $POSTGRES_INITDB_ARGS
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  echo "listen_addresses = '*'" >>"$data/postgresql.conf"
  pg_ctl -D "$data" -w -o "-c listen_addresses=''" start
  createdb -U "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl -D "$data" -w stop
fi
exec "$@" -D "$data"
END
}

entrypoint_of_redis() { # its data, if any, goes where it stands
  printf '#!/bin/sh\nmkdir -p /data && cd /data && chown redis . && exec setpriv --reuid redis --regid redis --clear-groups "$@" --protected-mode no\n'
}

entrypoint_of_haproxy() {
  printf '#!/bin/sh\nexec setpriv --reuid haproxy --regid haproxy --clear-groups "$@"\n'
}

entrypoint_of_memcached() {
  printf '#!/bin/sh\nexec setpriv --reuid memcache --regid memcache --clear-groups "$@"\n'
}

entrypoint_of_prometheus() { # as the image's user, 65534
  printf '#!/bin/sh\nchown nobody /prometheus\nexec setpriv --reuid nobody --regid nogroup --clear-groups prometheus "$@"\n'
}

entrypoint_of_zookeeper() {
  printf '#!/bin/sh\nexec /usr/share/zookeeper/bin/zkServer.sh start-foreground\n'
}

entrypoint_of_rabbitmq() {
  printf '#!/bin/sh\nchown rabbitmq: /var/lib/rabbitmq\nexport HOME=/var/lib/rabbitmq\nexec setpriv --reuid rabbitmq --regid rabbitmq --clear-groups /usr/lib/rabbitmq/bin/rabbitmq-server\n'
}

# --- what is asked ---

wait_until() { # SECONDS COMPLAINT COMMAND...
  local until=$((SECONDS + $1)) complaint=$2
  shift 2
  until "$@" >"$work/answer" 2>&1; do
    [ "$SECONDS" -lt "$until" ] || die "$complaint ($(tail -n 3 "$work/answer"))"
    sleep 0.5
  done
}

compose() { # as a user has it: the plugin, or the program of its own
  local command=(docker-compose)
  if docker compose version >/dev/null 2>&1; then command=(docker compose); fi
  "${command[@]}" --project-name "$project" --project-directory "$checkout" -f "$checkout/docker-compose.yml" "$@"
}

container() { compose ps -q "$1"; }
fact() { docker inspect --format "$2" "$1"; } # IMAGE OR CONTAINER, FORMAT

expect() { # PATTERN, WHAT IS, ABOUT WHAT
  # shellcheck disable=SC2053  # it is a pattern
  [[ $2 == $1 ]] || die "$3: $2, and it should be $1"
  say "$3: $2"
}

status_of() { curl -sS -o "$work/answer.$BASHPID" -w '%{http_code}' --max-time 70 "$@"; }

check_image() {
  local server
  server=$(compose images -q server-1 | head -n 1)
  expect '10001:10001' "$(fact "$server" '{{.Config.User}}')" "the image's user"
  expect '*SECKILL_LISTEN=0.0.0.0:8080*' "$(fact "$server" '{{.Config.Env}}')" "its environment"
  expect '*/dev/tcp/*' "$(fact "$server" '{{.Config.Healthcheck.Test}}')" "its health check"
  expect '*licenses:MIT*' "$(fact "$server" '{{.Config.Labels}}')" "its labels"
  say "its size: $(($(fact "$server" '{{.Size}}') / 1000000)) MB, of which $(($(fact "debian:$suite-slim" '{{.Size}}') / 1000000)) MB are Debian"
  expect '' "$(docker run --rm --entrypoint bash "$server" -c 'compgen -c | grep -xE "gcc|cc|make|cmake|ninja|ld|curl|wget|python3"')" \
    "tools in it that it does not need"
  expect 'seckill-server *' "$(docker run --rm --read-only --cap-drop ALL "$server" --version)" "what it says it is"
}

check_secrets() {
  local secret where
  for secret in server/admin_token postgres/password; do
    for where in server-2 server-3 postgres haproxy first-product; do
      ! fact "$(container "$where")" '{{json .}}' | grep -qf "$checkout/docker/secrets/$secret" ||
        die "docker inspect $where shows the $secret"
      ! docker top "$(container "$where")" 2>/dev/null | grep -qf "$checkout/docker/secrets/$secret" || die "ps shows the $secret in $where"
      ! docker logs "$(container "$where")" 2>&1 | grep -qf "$checkout/docker/secrets/$secret" || die "the $secret is in the log of $where"
    done
  done
  say "no secret in docker inspect, docker top or a log"
}

# What a first start makes.
check_first_start() {
  expect '200' "$(status_of "$url/products/1")" "the product that is there to buy"
  expect '20[01]' "$(status_of -H 'Content-Type: application/json' -d '{"product_id": 1, "user_id": 1}' "$url/orders")" "an order for it"
  expect '700' "$(stat -c %a "$checkout/docker/secrets")" "the secrets' folder's mode"
}

targets_up() { curl -sS --max-time 5 --get --data-urlencode 'query=sum(up{job="seckill"})' "http://$prometheus/api/v1/query" | grep -q "\"$1\"\]"; }

check_monitoring() {
  local prometheus
  compose up -d server-1 prometheus >"$work/up.log" 2>&1 || die "docker compose up server-1 prometheus: $(tail -n 20 "$work/up.log")"
  prometheus=$(compose port prometheus 9090)
  wait_until 60 "Prometheus does not scrape three servers" targets_up 3
  say "Prometheus scrapes three servers"
}

all_backends_up() {
  local server
  for server in server-1 server-2 server-3; do
    docker exec "$(container $server)" bash -c 'exec 3<>/dev/tcp/127.0.0.1/8080 && printf "GET /readyz HTTP/1.0\r\nHost: x\r\n\r\n" >&3 && cat <&3' \
      >"$work/readyz" || return 1
    grep -q '"name": "rabbitmq", "up": true' "$work/readyz" && ! grep -q '"up": false' "$work/readyz" || return 1
  done
}

check_all() {
  local strategy product=10
  say "starting the profile all"
  compose --env-file "$checkout/docker/all.env" up -d >"$work/up.log" 2>&1 || die "docker compose up: $(tail -n 20 "$work/up.log")"
  url=http://$(compose port haproxy 8000)
  wait_until 120 "not every backend is up on every server" all_backends_up
  wait_until 60 "HAProxy has no server" curl -sS --fail --max-time 5 "$url/readyz"
  for strategy in redlock memcached-lock zookeeper-lock partitioned-queue redis-stock; do
    product=$((product + 1))
    status_of -X PUT -H "Authorization: Bearer $(cat "$checkout/docker/secrets/server/admin_token")" -d '{"stock": 5}' \
      "$url/products/$product" >/dev/null
    expect '20[12]' "$(status_of -H 'Content-Type: application/json' -d "{\"product_id\": $product, \"user_id\": 1}" \
      "$url/orders?strategy=$strategy")" "an order with $strategy"
  done
}

sold_in() { compose --profile cells exec -T "postgres-$1" psql -XAtq -U seckill -d seckill -c 'SELECT count(*) FROM orders'; } # CELL

check_cells() {
  local product one two
  say "starting the profile cells"
  compose --profile cells up -d cells >"$work/up.log" 2>&1 || die "docker compose up cells: $(tail -n 20 "$work/up.log")"
  url=http://$(compose --profile cells port cells 8000)
  wait_until 90 "HAProxy has no cell" curl -sS --fail --max-time 5 "$url/readyz"
  for product in {1..8}; do
    status_of -X PUT -H "Authorization: Bearer $(cat "$checkout/docker/secrets/server/admin_token")" -d '{"stock": 5}' \
      "$url/products/$product" >/dev/null
    expect 201 "$(status_of -H 'Content-Type: application/json' -d "{\"product_id\": $product, \"user_id\": 1}" \
      "$url/orders?strategy=redis-fenced")" "an order of product $product"
  done
  one=$(sold_in 1) two=$(sold_in 2)
  [ $((one + two)):$((one * two > 0)) = 8:1 ] || die "of 8 orders cell 1 has $one, and cell 2 $two"
  say "of 8 orders cell 1 has $one, and cell 2 $two"
}

check_admin() {
  local product=$url/products/1 wrong token
  token=$(cat "$checkout/docker/secrets/server/admin_token")
  wrong=$(status_of -X PUT -d "{\"stock\": $stock}" "$product")
  expect '40[13]' "$wrong" "an admin call without the token, through HAProxy"
  expect '40[13]' "$(status_of -X PUT -H 'Authorization: Bearer wrong' -d "{\"stock\": $stock}" "$product")" "with a wrong one"
  expect '20[01]' "$(status_of -X PUT -H "Authorization: Bearer $token" -d "{\"stock\": $stock}" "$product")" "with the right one"
}

# An order is repeated with its key until it has an answer that is no 5xx, as a client should. Its line: the last
# status, and how many 5xx came before.
buy() { # NUMBER
  local status failed=0
  until status=$(status_of -H 'Content-Type: application/json' -H "Idempotency-Key: order-$1" \
      -d "{\"product_id\": 1, \"user_id\": $1}" "$url/orders") && [[ $status != 5* ]]; do
    failed=$((failed + 1))
    [ $failed -lt 20 ] || break
    sleep 0.2
  done
  echo "$status $failed"
}

# The buyers take the numbers in turn; the server is stopped when a fifth of the orders has been answered.
sell_and_stop_one() {
  local buyer number code
  for ((buyer = 0; buyer < buyers; buyer++)); do
    for ((number = buyer + 1; number <= orders; number += buyers)); do buy $number; done >"$work/sold.$buyer" &
    buying+=($!)
  done
  wait_until 60 "the orders do not come" enough_answered $((orders / 5))
  docker stop --time 75 "$(container server-1)" >"$work/stop.log" 2>&1 || die "server-1 does not stop: $(cat "$work/stop.log")"
  ! enough_answered "$orders" || die "the sale was over before the server had stopped"
  say "one of three servers stopped when $(answered) of $orders orders had been answered"
  wait "${buying[@]}"
  buying=()
  code=$(fact "$(container server-1)" '{{.State.ExitCode}}')
  expect 0 "$code" "exit status of the server that SIGTERM has stopped as process 1"
}

answered() { cat "$work"/sold.* | wc -l; }
enough_answered() { [ "$(answered)" -ge "$1" ]; }
count_of() { awk -v status="^$1\$" '$1 ~ status' "$work"/sold.* | wc -l; }

check_sale() {
  expect "$stock" "$(count_of '20[01]')" "orders sold"   # 200: a repeat of one that was
  expect "$((orders - stock))" "$(count_of 409)" "orders told that all is gone"
  expect "[0-$buyers]" "$(awk '{ n += $2 } END { print n }' "$work"/sold.*)" "answers 5xx, of $buyers buyers"
  expect "0 $stock" "$(compose exec -T postgres psql -XAtq -U seckill -d seckill -F ' ' -c "
    SELECT stock, (SELECT sum(quantity) FROM orders WHERE product_id = 1 AND status = 1) FROM product WHERE id = 1")" \
    "stock, and units sold, in PostgreSQL"
}

check_logs() {
  expect 'listening on http://*' "$(docker logs "$(container server-2)" 2>/dev/null)" "a server's stdout"
  [ -n "$(docker logs "$(container server-2)" 2>&1 >/dev/null)" ] || die "a server logs nothing to stderr"
}

# --- from the checkout to the ground ---

leave() {
  local status=$?
  trap '' INT TERM HUP
  [ ${#buying[@]} = 0 ] || kill "${buying[@]}" 2>/dev/null || true
  if [ -n "$started" ]; then
    [ $status = 0 ] || compose logs --tail 20 >&2 || true
    compose --profile monitoring --profile all --profile cells down --volumes --remove-orphans --rmi local --timeout 5 >"$work/down.log" 2>&1 || cat "$work/down.log" >&2
  fi
  stop_engine
  rm -rf --one-file-system "$work"
}

if [ -z "$engine_given" ]; then
  [ "$(id -u)" = 0 ] || die "an engine of its own needs root; --engine takes the one that is there"
  install_packages docker.io:dockerd docker-compose:docker-compose debootstrap:debootstrap iptables:iptables \
    iproute2:ip curl:curl git:git
fi
project=seckill-check-$$
trap leave EXIT
trap 'exit 130' INT TERM HUP
mkdir "$checkout"
(cd "$root" && git ls-files -z | xargs -0 cp --parents -t "$checkout")
if [ -z "$engine_given" ]; then
  start_engine
  make_images
fi
docker info >/dev/null || die "there is no Docker engine"
sed -i "s/^    build: \.$/    build: { context: ., args: { DEBIAN: $suite } }/" "$checkout/docker-compose.yml"
# A machine may allow fewer descriptors than docker-compose.yml asks for.
files=$(ulimit -Hn)
[ "$files" = unlimited ] || [ "$files" -ge 65536 ] || sed -i "s/nofile: 65536/nofile: $files/" "$checkout/docker-compose.yml"
export SECKILL_PORT=0 PROMETHEUS_PORT=0   # any that is free
started=yes
say "building the image"
compose build >"$work/build.log" 2>&1 || die "the build failed: $(tail -n 20 "$work/build.log")"
say "starting the servers"
waiting=$(compose up --help | grep -o -m 1 -e --wait || true)   # docker-compose 1 has none
compose up -d ${waiting:+"$waiting"} >"$work/up.log" 2>&1 || die "docker compose up $waiting: $(tail -n 20 "$work/up.log")"
url=http://$(compose port haproxy 8000)
wait_until 90 "HAProxy has no server" curl -sS --fail --max-time 5 "$url/readyz"
check_image
check_first_start
check_admin
sell_and_stop_one
check_sale
check_secrets
check_logs
check_monitoring
check_all
check_cells
say "all good"
