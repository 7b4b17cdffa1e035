# What soak.sh and failover.sh share: three servers, recorded crowds that buy from them by several strategies at once, and
# what is judged of the ledgers. Who sources it sets out and server_options, and strategies where they are others, and has
# the backends in the environment.
# shellcheck shell=bash disable=SC2034,SC2154  # the scripts'

server=$root/build/release/server/seckill-server loadtest=$root/build/release/loadtest/seckill-loadtest
# Each keeps its promise when a holder is paused and when the locks' Redis forgets.
strategies=(conditional pipelined batch redis-fenced redis-queue redis-stock partitioned-queue)
each=2 crowd_server=''   # products of a crowd; through whom it buys, if not from the servers
databases=()             # of cells: all of them
servers=('' '' '') urls=('' '' '') recorders=() names=() failures=0 violations=0 operations=0
promised=all   # or the names, with spaces around them, of the strategies whose violations are failures
declare -A red=()   # how many ledgers of each showed one

fail() { say "FAILED: $*"; failures=$((failures + 1)); }

now_us() { # of the monotonic clock, as in the ledgers, to a hundredth of a second
  local up
  read -r up _ </proc/uptime
  echo "${up/./}0000"
}

rest_until() { # MICROSECONDS
  local left_us=$(($1 - $(now_us)))
  [ $left_us -le 0 ] || sleep "$((left_us / 1000000)).$(printf %06d $((left_us % 1000000)))"
}

# --- the servers ---

start_server() { # INDEX: where it listened before, if it did
  local number=$(($1 + 1)) listen=${urls[$1]:-http://127.0.0.1:0} said=$out/server-$(($1 + 1)).out line='' tries
  : >"$said"
  "$server" --listen "${listen#http://}" "${server_options[@]}" >"$said" 2>>"$out/server-$number.log" 8>&- &
  servers[$1]=$!
  for ((tries = 0; tries < 600; tries++)); do
    if read -r line <"$said"; then
      urls[$1]=${line#listening on }
      return
    fi
    kill -0 "${servers[$1]}" 2>/dev/null || break
    sleep 0.05
  done
  die "server $number does not start: $(tail -n 1 "$out/server-$number.log")"
}

stop_server() { # INDEX: told to, and it has to end well
  local code=0
  kill -s TERM "${servers[$1]}" 2>/dev/null || true
  wait "${servers[$1]}" || code=$?
  servers[$1]=''
  [ $code = 0 ] || fail "server $(($1 + 1)) was told to stop and ended with $code"
}

end_all() { # [PID]...
  local pid
  for pid in "$@" "${recorders[@]}" "${servers[@]}"; do
    [ -z "$pid" ] || kill -s CONT "$pid" 2>/dev/null || true
    [ -z "$pid" ] || kill -s TERM "$pid" 2>/dev/null || true
  done
  for pid in "${servers[@]}"; do [ -z "$pid" ] || wait "$pid" || true; done
}

# --- the crowds ---

record() { # NAME STRATEGY STOCK FIRST_PRODUCT SECONDS SEED
  "$loadtest" record --server "${crowd_server:-$(IFS=,; echo "${urls[*]}")}" --reset --strategy "$2" --products $each --stock "$3" \
    --first-product "$4" --users 2000 --connections 4 --duration "$5s" --seed "$6" --out "$out/$1" \
    >"$out/$1.said" 2>&1 8>&- &
  recorders+=($!)
}

# A crowd with plenty and one that sells out, for each strategy. end_us is when they end, at the latest (ask_crowds).
begin_crowds() { # SECONDS SEED NAME
  local strategy first=1000001 i=0 size
  : >"$out/events"
  : >"$out/gone"
  names=()
  end_us=$(($(now_us) + $1 * 1000000))
  for strategy in "${strategies[@]}"; do
    for size in plenty scarce; do
      names+=("$3-$strategy-$size $strategy")
      record "$3-$strategy-$size" "$strategy" "$([ $size = plenty ] && echo 1000000 || echo 200)" $first "$1" $(($2 + i))
      first=$((first + each)) i=$((i + 1))
    done
  done
}

# It is enough: they come to their end.
ask_crowds() { kill -s INT "${recorders[@]}"; }

# Waits for them, and judges what they were told. A ledger that shows something is kept.
end_crowds() {
  local i ledger strategy
  operations=0
  for i in "${!recorders[@]}"; do
    wait "${recorders[i]}" || fail "recording ended with $?: $(tail -n 1 "$out/${names[i]% *}.said")"
  done
  recorders=()
  for i in "${names[@]}"; do
    read -r ledger strategy <<<"$i"
    if [[ $ledger = *-plenty ]]; then judge_sales "$ledger" "$strategy"; fi
    operations=$((operations + $(grep -m 1 -oE '^[0-9]+' "$out/$ledger.said" || echo 0)))
    if check "$ledger" "$strategy"; then rm -rf "${out:?}/$ledger" "$out/$ledger.said" "$out/$ledger.checked"; fi
  done
}

# What was cancelled or restocked while redis-stock's Redis was away is missing in what that says is left, until it is
# told: so docs/strategies/redis-stock.md has it. Then "sold out" may be false, for a moment.
is_of_the_return() { # NAME
  awk -v grace_us=1000000 '
    FILENAME ~ /gone$/ && $2 == "stock" { gone = $1 }
    FILENAME ~ /gone$/ && $2 == "back" || FILENAME ~ /events$/ && $2 == "stock" { back = $1 }
    FILENAME ~ /(gone|events)$/ { next }
    /^  [0-9]/ && !/ \(A12 / { other = 1 }
    /^ *op / { gsub(/[][]/, ""); seen++; if (!back || $3 < gone || $5 > back + grace_us) other = 1 }
    END { exit other || !seen }' "$out/gone" "$out/events" "$out/$1.checked"
}

# It is judged again where it could not be: the node that it asks may be one that has just come back.
check() { # NAME STRATEGY
  local code said without=()
  [ "$2" = redis-stock ] || without=(env -u SECKILL_STOCK_REDIS)   # what others sell is not in its Redis
  for _ in 1 2 3; do
    code=0
    "${without[@]}" "$loadtest" check "$out/$1/ledger.jsonl" "${databases[@]/#/--database=}" --show 100000 >"$out/$1.checked" 2>&1 || code=$?
    [ $code = 2 ] || break
    sleep 1
  done
  [ $code != 0 ] || return 0
  if [ $code = 1 ] && [ "$2" = redis-stock ] && is_of_the_return "$1"; then
    say "$1: $(grep -m 1 -o 'falsely for sure [0-9]*' "$out/$1.checked") \"sold out\", while its Redis came back"
    return
  fi
  said="$1: $(grep -m 1 -E '^  [0-9]|seckill-loadtest' "$out/$1.checked")"
  [ $code != 1 ] || red[$2]=$((${red[$2]:-0} + 1))
  if [ $code = 1 ] && [[ $promised != all && $promised != *" $2 "* ]]; then
    say "not promised: $said"
    return
  fi
  say "VIOLATED: $said; $out/$1.checked, $out/$1/ledger.jsonl"
  if [ $code = 1 ]; then violations=$((violations + 1)); else fail "$1 could not be judged"; fi
  return 1
}

judge_sales() { # NAME STRATEGY
  awk -v pauses="${pauses:-}" -f "$root/scripts/soak.d/first_sale.awk" "$out/events" "$out/$1/ledger.jsonl" |
    while read -r name us bound_ms; do echo "$2 $name $us $bound_ms"; done >>"$out/first_sales"
}

judge_first_sales() { # EVENT...
  local code=0
  say "the longest that a product waited for its next sale, in ms"
  awk -f "$root/scripts/soak.d/first_sales_table.awk" -v rows="${strategies[*]}" -v columns="$*" "$out/first_sales" || code=$?
  case $code in
    0) ;;
    1) fail "a product did not sell again in time ($out/first_sales)" ;;
    *) fail "a fault has met no sale of some strategy ($out/first_sales)" ;;
  esac
}
