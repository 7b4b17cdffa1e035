#!/usr/bin/env bash
# Proves that check_layers.sh goes red: a small tree that is in order passes, and with one wrong include in
# it, of each kind, it fails and says where.
set -euo pipefail

lint=$(cd "$(dirname "$0")" && pwd)
check=$lint/check_layers.sh
# shellcheck source-path=SCRIPTDIR source=tree.sh
. "$lint/tree.sh"

rooms=(base settings metrics order postgres redis lock strategy sale strategies drive dispatch http api)

refuses "a tree without sources"

# In order: each room includes itself and all to its right.
seen=()
for room in "${rooms[@]}"; do
  put "server/$room/$room.h" '#include <stdint.h>'
  put "server/$room/$room.c" "#include \"$room/$room.h\""
  for right in "${seen[@]}"; do
    case $room-$right in postgres-redis | redis-postgres) continue ;; esac
    printf '#include "%s/%s.h"\n' "$right" "$right" >>"$tree/server/$room/$room.c"
  done
  seen+=("$room")
done
put server/app.h '#include "api/api.h"'
put server/http/reader/reader.h '#include "order/order.h"'
put server/lock/redis/redlock.h '#include "lock/lock.h"'
put server/strategies/redis_stock/stock.c '#include "lock/redis/redlock.h"'
put server/app.c '#include "app.h"'
put server/main.c '#include "app.h"'
put server/http/edge.c '#include <microhttpd.h>'
put server/http/json.c '#include <jansson.h>'
put server/postgres/pg.c '#include <libpq-fe.h>'
put server/postgres/sql.c '#include "gen/sql_text.h"'
put server/redis/redis.c '#include <hiredis/hiredis.h>'
harness=(base load ledger judge fleet phase report zoo commands)
seen=()
for room in "${harness[@]}"; do
  put "loadtest/$room/$room.h" '#include <stdio.h>'
  put "loadtest/$room/$room.c" "#include \"loadtest/$room/$room.h\""
  for right in "${seen[@]}"; do
    printf '#include "loadtest/%s/%s.h"\n' "$right" "$right" >>"$tree/loadtest/$room/$room.c"
  done
  seen+=("$room")
done
put loadtest/judge/witness.c '#include <libpq-fe.h>'
put loadtest/zoo/read.c '#include "sql_text.h"'
put loadtest/load/wrk.c '#include "gen/load_lua.h"'
put loadtest/load/open_loop.c '#include "base/base.h"'
put bench/bed.c '#include "base/base.h"'
put loadtest/main.c '#include "loadtest/commands/commands.h"'
put bench/bench.h '#include "loadtest/commands/commands.h"'
put bench/main.c '#include "bench/bench.h"'
passes "a tree in order"

# Against the order: each room includes each to its left.
for ((i = 0; i < ${#rooms[@]}; i++)); do
  for ((j = i + 1; j < ${#rooms[@]}; j++)); do
    catches "server/${rooms[i]}/bad.c" "#include \"${rooms[j]}/${rooms[j]}.h\""
  done
  catches "server/${rooms[i]}/bad.c" '#include "app.h"'
done
catches server/redis/bad.c '#include "postgres/postgres.h"'
catches server/strategy/bad.h '#include "http/http.h"'
catches server/strategy/bad.c '  #  include   "http/http.h"'
catches server/strategy/bad.c '#include <http/http.h>'
catches server/lock/redis/bad.c '#include "sale/sale.h"'
catches server/http/reader/bad.c '#include "http/http.h"'
catches server/http/reader/bad.c '#include "dispatch/dispatch.h"'

# Third-party code outside its room.
for room in "${rooms[@]}" app; do
  file=server/$room/bad.c
  [ "$room" != app ] || file=server/app.c
  case $room in http | api) ;; *)
    catches "$file" '#include <microhttpd.h>'
    catches "$file" '#include <jansson.h>' ;;
  esac
  [ "$room" = postgres ] || catches "$file" '#include <libpq-fe.h>'
  [ "$room" = postgres ] || catches "$file" '#include <postgresql/libpq-fe.h>'
  [ "$room" = redis ] || catches "$file" '#include <hiredis/hiredis.h>'
  [ "$room" = redis ] || catches "$file" '#include <hiredis/async.h>'
  [ "$room" = redis ] || catches "$file" '#include "hiredis.h"'
  [ "$room" != app ] || put server/app.c '#include "app.h"'
done
catches server/strategy/bad.c '#include "gen/sql_text.h"'
catches loadtest/judge/bad.c '#include "sql_text.h"'
catches loadtest/judge/bad.c '#include "gen/lua_text.h"'
catches server/postgres/bad.c '#include "gen/lua_text.h"'

# Includes that are not written "room/file.h", and files that stand nowhere.
catches server/postgres/bad.c '#include "store.h"'
catches server/postgres/bad.c '#include "../http/http.h"'
catches server/postgres/bad.c '#include "./store.h"'
catches server/postgres/bad.c '#include HEADER'
catches server/util/bad.c '#include <stdint.h>'
catches server/bad.c '#include <stdint.h>'

# The harness's rooms, as the server's.
for ((i = 0; i < ${#harness[@]}; i++)); do
  for ((j = i + 1; j < ${#harness[@]}; j++)); do
    catches "loadtest/${harness[i]}/bad.c" "#include \"loadtest/${harness[j]}/${harness[j]}.h\""
  done
  catches "loadtest/${harness[i]}/bad.c" '#include "bench/bench.h"'
done
catches loadtest/bad.c '#include <stdint.h>'
catches loadtest/util/bad.c '#include <stdint.h>'

# It is a witness: of what it judges it has base alone.
catches loadtest/load/bad.c '#include "settings/settings.h"'
catches loadtest/judge/bad.c '#include "postgres/postgres.h"'
catches loadtest/load/bad.c '#include <order/order.h>'
catches loadtest/load/bad.c '#include "app.h"'
catches loadtest/load/bad.c '#include "server/order/order.h"'
catches loadtest/load/bad.c '#include "../server/order/order.h"'
catches loadtest/load/bad.h '#include "../../server/order/order.h"'
catches bench/bad.c '#include "order/order.h"'

passes "the tree in order, again"
judge
