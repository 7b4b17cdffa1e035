#!/usr/bin/env bash
# check_layers.sh [ROOT]: reads every #include of server/, loadtest/ and bench/ and fails when one breaks the
# order of the rooms. The compiler cannot: third-party headers stand in /usr/include for everybody.
set -euo pipefail

root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$root"

# A folder includes itself, and what has a smaller number. Those with the same number do not know each other. A folder
# within a room belongs to it, unless it stands here.
declare -A level=(
  [base]=0 [settings]=1 [metrics]=2 [backend]=3 [order]=3 [postgres]=4 [redis]=4 [rabbitmq]=4 [http/reader]=4 [lock]=5 [strategy]=6
  [sale]=7 [strategies]=8 [drive]=10 [dispatch]=11 [http]=12 [api]=13 [app]=14
  [main]=15 [loadtest]=16
)

# The harness's rooms, in the same way; its headers are included as "loadtest/room/file.h", and the bench's as
# "bench/file.h". Of the server each may include base alone (errors, the clock): SQL, audit and verdict are a
# witness, and share nothing. But zoo plays the server's own statements and scripts (sql_text.h, lua_text.h).
declare -A harness_level=(
  [base]=0 [engine]=1 [relay]=1 [load]=2 [ledger]=3 [crowd]=3 [judge]=4 [fleet]=6 [phase]=7 [faults]=7
  [report]=8 [shop]=9 [zoo]=9 [commands]=10 [main]=11 [bench]=12
)

# Headers that some rooms alone may include. sql_text.h, lua_text.h, openapi_yaml.h and live_page.h are generated.
declare -A owner=(
  [microhttpd.h]="http api" [jansson.h]="http api http/reader" [libpq-fe.h]=postgres
  [rabbitmq-c]=rabbitmq [amqp.h]=rabbitmq [amqp_tcp_socket.h]=rabbitmq [amqp_ssl_socket.h]=rabbitmq
  [libmemcached]=lock [zookeeper]=lock
  [openssl]="redis rabbitmq" [hiredis]=redis [hiredis.h]=redis [sql_text.h]=postgres [lua_text.h]=redis [openapi_yaml.h]=api [live_page.h]=api [zoo_json.h]=api
)

files=0
broken=0

refuse() {
  echo "$1: $2" >&2
  broken=$((broken + 1))
}

# Of a path below server/, "postgres/pg.h" → postgres, "lock/redis/redis_lock.h" → lock. Sets $room.
find_server_room() {
  local folder=${1%/*}

  while [ -z "${level[$folder]:-}" ] && [[ $folder == */* ]]; do
    folder=${folder%/*}
  done
  room=$folder
}

# The same of a file's path; server/main.c and server/app.[ch] are rooms of their own.
find_room() {
  case $1 in
    loadtest/* | bench/*) room=loadtest ;;
    server/*/*) find_server_room "${1#server/}" ;;
    server/main.c) room=main ;;
    server/app.[ch]) room=app ;;
    *) room=none ;;
  esac
}

check_server() { # where, room, included, "quoted" or "angled"
  local where=$1 from=$2 included=$3 how=$4
  local first=${included%%/*} last=${included##*/}
  local only=${owner[$first]:-${owner[$last]:-}} room

  if [ -n "$only" ]; then
    [[ " $only " == *" $from "* ]] || refuse "$where" "$from must not include $included: it is for $only alone"
    return 0
  fi
  find_server_room "$included"
  [ "$included" != app.h ] || room=app
  if [ "$how" = angled ] && { [ "$first" = "$included" ] || [ -z "${level[$room]:-}" ]; }; then
    return 0 # a header of the system
  elif [ "$room" != app ] && { [ "$first" = "$included" ] || [ -z "${level[$room]:-}" ] || [[ $included == *./* ]]; }; then
    refuse "$where" "\"$included\" is not of the form \"room/file.h\""
    return 0
  fi
  if [ "$room" != "$from" ] && [ "${level[$room]}" -ge "${level[$from]}" ]; then
    refuse "$where" "$from must not include $included: $room does not stand to its right"
  fi
}

# "loadtest/load/wrk.c" → load. Sets $harness_room.
find_harness_room() {
  local path=${1#loadtest/}
  case $1 in
    bench/*) harness_room=bench ;;
    loadtest/main.c) harness_room=main ;;
    loadtest/*/*) harness_room=${path%%/*} ;;
    *) harness_room=none ;;
  esac
}

check_loadtest() { # where, included
  local where=$1 included=$2
  local first=${included%%/*} from

  case $included in
    sql_text.h | lua_text.h | */sql_text.h | */lua_text.h)
      find_harness_room "${where%%:*}"
      [ "$harness_room" = zoo ] || refuse "$where" "$harness_room must not include $included: it is for zoo alone"
      return 0 ;;
    *../*) ;;
    gen/*) return 0 ;;
    loadtest/*/* | bench/*)
      find_harness_room "${where%%:*}"
      from=$harness_room
      find_harness_room "$included"
      if [ -n "${harness_level[$harness_room]:-}" ] &&
        [ "${harness_level[$harness_room]}" -le "${harness_level[$from]:--1}" ]; then
        return 0
      fi
      refuse "$where" "$from must not include $included: $harness_room does not stand to its right"
      return 0 ;;
  esac
  case $included in
    *../server/* | server/* | app.h) ;;
    base/*) return 0 ;;
    */*) [ -d "server/$first" ] || return 0 ;;
    *) return 0 ;;
  esac
  refuse "$where" "loadtest must not include $included: of the server it has base alone"
}

check_include() { # where, line
  local pattern='^[[:space:]]*#[[:space:]]*include[[:space:]]*(["<])([^">]+)[">]'
  local how=angled

  if ! [[ $2 =~ $pattern ]]; then
    refuse "$1" "an include that cannot be read: $2"
    return 0
  fi
  [ "${BASH_REMATCH[1]}" = "<" ] || how=quoted
  if [ "$room" = loadtest ]; then
    check_loadtest "$1" "${BASH_REMATCH[2]}"
  else
    check_server "$1" "$room" "${BASH_REMATCH[2]}" "$how"
  fi
}

folders=(server)
for folder in loadtest bench; do
  [ ! -d "$folder" ] || folders+=("$folder")
done

while IFS= read -r file; do
  files=$((files + 1))
  find_room "$file"
  [ "$room" != loadtest ] || find_harness_room "$file"
  if [ -z "${level[$room]:-}" ] || { [ "$room" = loadtest ] && [ -z "${harness_level[$harness_room]:-}" ]; }; then
    refuse "$file" "stands in no room: give it one in tests/lint/check_layers.sh"
  fi
done < <(find "${folders[@]}" -name '*.[ch]' | sort)

while IFS=: read -r file number line; do
  find_room "$file"
  [ -z "${level[$room]:-}" ] || check_include "$file:$number" "$line"
done < <(grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*(include|import)' "${folders[@]}" ||
  true)

if [ "$files" -eq 0 ]; then
  echo "no sources under $root: nothing was checked" >&2
  exit 1
fi
echo "$files files, $broken includes against the order"
[ "$broken" -eq 0 ]
