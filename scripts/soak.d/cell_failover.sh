# Part of failover.sh: three cells behind HAProxy, each a PostgreSQL with a synchronous standby and two servers, and
# crowds who buy in all of them, while one cell's primary is killed, with a standby that is behind, or stands still, and
# its standby is promoted by hand. Its own buyers are told 503, and have their orders by their keys afterwards; the others
# notice nothing; and nothing is lost, oversold or doubled anywhere.
#
# Two controls: standbys that no commit waits for must lose orders, and a map that sends a product to two cells must be
# seen: by 421, and, where somebody has put the product on sale in both, by check and audit.
# shellcheck shell=bash disable=SC2034,SC2154  # failover.sh's

strategies=(conditional pipelined batch redis-fenced redis-queue redis-stock partitioned-queue)
others_ms=1000   # the longest that an order of another cell may take
cells=3 each=3   # a product of each crowd's in each cell
databases=()

cell_stack() { if [ "$1" = 1 ]; then echo "$stack_dir"; else echo "$root/.stack/failover-cells/$1"; fi; } # CELL

start_cells() {
  local cell
  for ((cell = 1; cell <= cells; cell++)); do
    [ $cell = 1 ] || "$stack" --dir "$(cell_stack $cell)" down --purge 8>&-
    start_cell_stack "$(cell_stack $cell)" "$([ $cell != 1 ] || echo "${with#,}")"   # one RabbitMQ is enough
    databases+=("$SECKILL_DATABASE")
    server_options=(--cell "$cell/$cells" --system-name "cell-$cell" --lock-ttl-ms 2000 --work-timeout-ms 1500)
    start_server $((2 * cell - 2))
    start_server $((2 * cell - 1))
    behind[$cell]="${urls[2 * cell - 2]} ${urls[2 * cell - 1]}"
  done
  unset SECKILL_REDIS SECKILL_STOCK_REDIS   # check knows one cell's
}

end_cells() {
  local cell
  stop_proxies
  for ((cell = 2; cell <= cells; cell++)); do "$stack" --dir "$(cell_stack $cell)" down; done
}

# Products are dealt to the cells in turn, 3 to 5 as well; but product 1000000.
start_balancer() { # NAME CELL: to url
  local product folder=$out/$1 port
  mkdir -p "$folder"
  port=$(free_port)
  {
    printf '1000000 %02x\n' "$2"
    for product in {3..5} $(seq 1000001 $((1000000 + each * 2 * ${#strategies[@]}))); do
      printf '%d %02x\n' "$product" $((product % cells + 1))
    done
  } | write_cells "$folder" "$port" "$cells"
  start_proxy "$folder" "$port"
}

buy() { # URL PRODUCT KEY: prints the status
  curl -sS -o "$out/answer" -w '%{http_code}' --max-time 70 --noproxy '*' ${3:+-H "Idempotency-Key: $3"} \
    -d "{\"product_id\": $2, \"user_id\": 1}" "$1/orders"
}

audit() { # EXIT_STATUS SAYS
  local code=0
  "$loadtest" audit "${databases[@]/#/--database=}" >"$out/audit" 2>&1 || code=$?
  { [ $code = "$1" ] && grep -q "$2" "$out/audit"; } || fail "the audit ends with $code: $(tail -n 3 "$out/audit")"
}

buy_elsewhere() { # CELL: in each of the others, which has to notice nothing
  local other told
  for other in $(seq $cells | grep -vx "$1"); do
    for _ in {1..10}; do
      told=$(buy "$crowd_server" $((other + 2)) '')
      [ "$told" = 201 ] || fail "cell $other answers $told while cell $1 has no primary: $(cat "$out/answer")"
    done
  done
}

break_cell() { # FAULT NUMBER
  local cell=$((RANDOM % cells + 1)) begun_us end at old=postgres new=standby told how=killed key="$1-$2-$RANDOM"
  at=$(cell_stack $cell)
  [ "$(as_postgres "${databases[cell - 1]}" -c 'SHOW port')" = 5432 ] || old=standby new=postgres
  begun_us=$(now_us)
  if (($2 % 2)); then
    "$stack" --dir "$at" signal $new STOP 8>&-
    sleep 0.$((RANDOM % 5 + 3))
    "$stack" --dir "$at" signal $old KILL 8>&-
    "$stack" --dir "$at" signal $new CONT 8>&-
  else
    how=frozen
    "$stack" --dir "$at" signal $old STOP 8>&-
  fi
  told=$(buy "$crowd_server" $((cell + 2)) "$key")
  [[ $told == 50[34] ]] || fail "a cell without a primary answers $told: $(cat "$out/answer")"
  buy_elsewhere $cell
  "$stack" --dir "$at" failover 8>&-
  echo "$begun_us $1 $((($(now_us) - begun_us) / 1000 + sold_ms)) $cell/$cells" >>"$out/events"
  echo "$begun_us others $others_ms !$cell/$cells" >>"$out/events"
  end=$((SECONDS + 120))
  say "cell $cell, whose primary was $how: another one after $((($(now_us) - begun_us) / 1000)) ms"
  until told=$(buy "$crowd_server" $((cell + 2)) "$key") && [[ $told == 20[01] ]]; do
    [ $SECONDS -lt $end ] || die "cell $cell does not sell again: $told $(cat "$out/answer")"
    sleep 0.1
  done
  [ "$(as_postgres "${databases[cell - 1]}" -c "SELECT count(*) FROM seckill.orders WHERE idempotency_key = '$key' AND status = 1")" = 1 ] ||
    fail "$key has not one order"
  rest_until $((begun_us + sold_ms * 1000 + 4000000))
}

# What one balancer sends to cell 2 another one sends to cell 1.
two_maps() {
  local told
  say "and the control: two balancers send product 1000000 to two cells"
  put "$crowd_server" 1000000
  start_balancer second 1
  told=$(buy "$url" 1000000 '')
  [ "$told" = 421 ] || fail "a cell that has not the product answers $told: $(cat "$out/answer")"
  audit 0 "$cells cells: 0 wrong beside each other"
  put "$url" 1000000
  "$loadtest" record --server "$crowd_server,$url" --strategy conditional --products 1 --stock 1000000 --first-product 1000000 \
    --connections 6 --operations 400 --out "$out/two-maps" >"$out/two-maps.said" 2>&1 || die "two maps: $(tail -n 1 "$out/two-maps.said")"
  ! "$loadtest" check "$out/two-maps/ledger.jsonl" "${databases[@]/#/--database=}" >"$out/two-maps.checked" ||
    fail "check has not seen two cells sell product 1000000"
  grep -q 'A18 wrong cell' "$out/two-maps.checked" || fail "check says nothing of A18: $out/two-maps.checked"
  audit 1 "product 1000000 is in cell 1, and in cell 2"
}

put() { # URL PRODUCT
  curl -fsS -o "$out/answer" --retry 5 --max-time 60 --noproxy '*' -X PUT -H "Authorization: Bearer $SECKILL_ADMIN_TOKEN" \
    -d '{"stock": 1000000}' "$1/products/$2" || fail "product $2 cannot be put on sale: $(cat "$out/answer")"
}

run_cell_faults() {
  local number lost i cell
  case " ${strategies[*]} " in *' partitioned-queue '*) packages+=(librabbitmq-dev rabbitmq-server) with=,rabbitmq ;; esac
  packages+=(haproxy:haproxy)
  prepare
  make_token
  urls=('' '' '' '' '' '')
  start_cells
  start_balancer first 2
  crowd_server=$url
  for ((cell = 1; cell <= cells; cell++)); do put "$url" $((cell + 2)); done
  for number in $(seq "$runs"); do
    run cell "$number"
    audit 0 "$cells cells: 0 wrong beside each other"
  done
  lost=$violations i=$failures
  judge_first_sales cell others
  [ -z "$untimed" ] || failures=$i
  say "and the control: no commit waits for the standbys"
  for i in "${databases[@]}"; do
    as_postgres "$i" -o /dev/null -c "ALTER SYSTEM SET synchronous_standby_names = ''" -c 'SELECT pg_reload_conf()'
  done
  for number in 1 3 5; do
    run cell "$number"
    [ "$violations" = "$lost" ] || break
  done
  [ "$violations" -gt "$lost" ] || die "the control has lost nothing: the faults have hit nobody"
  violations=$lost
  two_maps
  for i in "${!urls[@]}"; do stop_server "$i"; done
  say "seed $seed, $runs runs of cell: $((failures + violations)) failures, and the controls were red, as they must be"
  [ $((failures + violations)) = 0 ]
}
