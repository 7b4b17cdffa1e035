#!/usr/bin/env bash
# Takes the server's guards away, one at a time, in a copy of the checkout, and sees to it that a test goes red.
#
#   mutations.sh [--few] [PATTERN]   those marked `few`; those whose name matches PATTERN; else all
#   mutations.sh --check             only looks whether every record still fits the sources; builds and runs nothing
#
# tests/mutations.txt says which guard, how it is taken away and which test has to notice. What is left is built
# (only what the change concerns), and the named test is run. Mutations are taken program by program; after a
# program's, its tests are run on the unchanged copy: one that is red there too proves nothing, and neither does a
# change that PostgreSQL, Redis or the compiler cannot read. It uses the stack whose addresses it is given
# (tests/with-stack.sh), or starts one in the copy. Programs that are not built here, because a library is not
# installed, are passed over.
#
# Prints a table: what became of each mutation, the seconds that it took, and who noticed what. Exit status 1 when
# one was not noticed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
table=$root/tests/mutations.txt
few='' pattern='*'
copy='' own_stack=''
# By mutation. An edit is FILE, IN, FROM and TO, with $cut between them; edits stand one a line.
names=() programs=() patterns=() edits=()
cut=$'\x1f'
declare -A results=() of_program=()
failures=0

die() { echo "mutations.sh: $*" >&2; exit 1; }

finish() {
  if [ -n "$own_stack" ]; then "$root/scripts/stack.sh" --dir "$copy/stack" down --purge >"$copy/log" 2>&1 || true; fi
  if [ -n "$copy" ]; then rm -rf "$copy"; fi
}
trap finish EXIT
trap 'exit 130' INT TERM

# --- the table ---

# Keeps a record that was asked for.
keep() { # NAME TEST EDITS FEW
  if [ -z "$1" ] || [ -z "$2" ] || [ -z "$3" ]; then die "$1: no name, no test, or no change"; fi
  if [ -n "$few" ] && [ -z "$4" ]; then return 0; fi
  # shellcheck disable=SC2053  # a pattern is what is wanted
  if [[ $1 != $pattern ]]; then return 0; fi
  names+=("$1") programs+=("${2%% *}") patterns+=("${2#* }") edits+=("$3")
}

read_table() {
  local line fields marked changes i
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in '#'* | '') continue ;; esac
    marked='' changes=''
    if [[ $line == '*'* ]]; then marked=1 line=${line#'*'}; fi
    IFS=$cut read -ra fields <<<"${line//$'\t'/$cut}"
    for ((i = 2; i < ${#fields[@]}; i += 4)); do
      changes+=${fields[i]}$cut${fields[i + 1]:-}$cut${fields[i + 2]:-}$cut${fields[i + 3]:-}$'\n'
    done
    keep "${fields[0]}" "${fields[1]:-}" "$changes" "$marked"
  done <"$table"
  [ ${#names[@]} -gt 0 ] || die "no mutation is named $pattern"
}

# --- changing a file ---

# Replaces FROM by TO in the file, or in that part of it: a statement of sql/statements.sql by its name, elsewhere
# what begins at the line with IN and ends at the brace in column 1. Both must be there exactly once.
edit() { # FOLDER FILE IN FROM TO
  IN=$3 FROM=$4 TO=$5 awk '
    function begins(line) { return sql ? line == "-- name: " ENVIRON["IN"] : index(line, ENVIRON["IN"]) }
    function ends(line) { return sql ? line == "" : line ~ /^}/ }
    BEGIN { whole = ENVIRON["IN"] == ""; sql = FILENAME ~ /\.sql$/ || ARGV[1] ~ /\.sql$/; from = ENVIRON["FROM"] }
    !whole && !inside && begins($0) { inside = 1; parts++ }
    whole || inside {
      done = ""; rest = $0
      while ((at = index(rest, from)) > 0) {
        hits++
        done = done substr(rest, 1, at - 1) ENVIRON["TO"]
        rest = substr(rest, at + length(from))
      }
      if (!whole && ends($0)) inside = 0
      $0 = done rest
    }
    { print }
    END { exit hits == 1 && parts == !whole ? 0 : 1 }' "$1/$2" >"$1/$2.changed" || { rm -f "$1/$2.changed"; return 1; }
  mv "$1/$2.changed" "$1/$2"
}

files_of() { cut -d "$cut" -f 1 <<<"${edits[$1]%$'\n'}" | sort -u; } # INDEX

change() { # INDEX FOLDER
  local file in from to
  while IFS=$cut read -r file in from to; do
    edit "$2" "$file" "$in" "$from" "$to" || return 1
  done <<<"${edits[$1]%$'\n'}"
}

# --- checking the table ---

# The most parameters of each statement: one that has fewer would be refused when it is called.
count_parameters() { # FILE
  awk '/^-- name: / { if (name) print name, most; name = $3; most = 0; next }
       { line = $0; while (match(line, /\$[0-9]+/)) { n = substr(line, RSTART + 1, RLENGTH - 1) + 0
           if (n > most) most = n; line = substr(line, RSTART + RLENGTH) } }
       END { print name, most }' "$1"
}

# Names of strategies: all, and those that promise more of one instance than of many (see tests/lib/fixtures/cases.c).
list_strategies() { sed -n 's/^    \.name = "\([a-z-]*\)",$/\1/p' "$root"/server/strategies/*.c "$root"/server/strategies/*/*.c; }

list_local_strategies() {
  awk -F '"' '/^    \.name = "/ { name = $2 } /^    \.guarantees = GUARANTEE_ONE,$/ { print name }' "$root"/server/strategies/*.c "$root"/server/strategies/*/*.c
}

# "integration.lease" → its file, in whatever room of tests/integration it stands.
find_program() { find "$root/tests/${1%%.*}" -name "test_${1#*.}.c" -print -quit; }

# The names of a program's tests: what it declares, rows of a table that are each one, and what walks the
# registry.
list_tests() { # PROGRAM
  local source
  source=$(find_program "$1")
  sed -n 's/^TEST\(_WITH\)\{0,1\}(\([a-z0-9_]*\)[,)].*/\2/p; s/^static void \([a-z0-9_]*\)(void \*\*state)$/\1/p' "$source"
  sed -n 's/^    {"\(test_[a-z0-9_]*\)",.*/\1/p' "$source"
  sed -n 's/^ *{"\([^"]*\)", [a-z_]*},*$/\1/p' "$source" | while read -r test; do
    while read -r strategy; do
      printf "$test: $strategy%s\n" ', 3 instances' ' guarded, 3 instances'
    done < <(list_strategies)
    while read -r strategy; do echo "$test: $strategy, 1 instance"; done < <(list_local_strategies)
  done
}

selects_a_test() { # PROGRAM PATTERN
  local test
  while read -r test; do
    # shellcheck disable=SC2053  # a pattern is what is wanted
    if [[ $test == $2 ]]; then return 0; fi
  done <<<"${of_program[$1]}"
  return 1
}

check_one() { # INDEX SCRATCH
  local file program=${programs[$1]}
  for file in $(files_of "$1"); do
    mkdir -p "$2/${file%/*}"
    cp "$root/$file" "$2/$file" || return 1
  done
  if ! change "$1" "$2"; then echo "${names[$1]}: its text is not there, or more than once"; return 1; fi
  for file in $(files_of "$1"); do
    if [[ $file == *statements.sql ]] &&
      [ "$(count_parameters "$2/$file")" != "$(count_parameters "$root/$file")" ]; then
      echo "${names[$1]}: its statement loses a parameter"
      return 1
    fi
  done
  if [ -z "$(find_program "$program")" ]; then
    echo "${names[$1]}: there is no test program $program"
    return 1
  fi
  [ -n "${of_program[$program]:-}" ] || of_program[$program]=$(list_tests "$program")
  if ! selects_a_test "$program" "${patterns[$1]}"; then
    echo "${names[$1]}: no test of $program is named ${patterns[$1]}"
    return 1
  fi
}

check_table() {
  local i scratch
  scratch=$(mktemp -d)
  for i in "${!names[@]}"; do check_one "$i" "$scratch" || failures=$((failures + 1)); done
  rm -rf "$scratch"
  if [ "$(printf '%s\n' "${names[@]}" | sort | uniq -d | wc -l)" != 0 ]; then die "two mutations have one name"; fi
  [ $failures = 0 ] || die "$failures of ${#names[@]} mutations do not fit the sources"
}

# --- the copy ---

make_copy() {
  copy=$(mktemp -d "${TMPDIR:-/tmp}/seckill-mutations.XXXXXX")
  tar -C "$root" --exclude=./build --exclude=./.git --exclude=./.stack -cf - . | tar -C "$copy" -xf -
  # Nobody debugs it: without -g it is built in half of the time.
  cmake -S "$copy" -B "$copy/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DSECKILL_FAILPOINTS=ON >"$copy/log" 2>&1 ||
    die "$(tail "$copy/log")"
  cmake --build "$copy/build" -- -t targets all >"$copy/targets"
}

# The subjects of the conformance suite are one program.
is_subject() { [[ $(find_program "$1") == */conformance/* ]]; } # PROGRAM

target_of() { if is_subject "$1"; then echo integration_conformance; else echo "${1/./_}"; fi; } # PROGRAM

is_built_here() { grep -q "^$(target_of "$1"): " "$copy/targets"; } # PROGRAM

build() { # PROGRAM
  cmake --build "$copy/build" -j2 --target seckill-server "$(target_of "$1")" >"$copy/log" 2>&1
}

run_test() { # PROGRAM PATTERN
  local arguments=()
  if is_subject "$1"; then arguments=("${1#*.}"); fi
  SECKILL_TEST_ONLY=$2 SECKILL_TEST_PATIENCE_S=20 timeout 120 \
    "$copy/build/tests/${1%%.*}/$(target_of "$1")" "${arguments[@]}" >"$copy/log" 2>&1
}

with_stack() {
  if [ -z "${SECKILL_TEST_DATABASE:-}" ]; then
    own_stack=1
    "$root/scripts/stack.sh" --dir "$copy/stack" up --with all >"$copy/log" 2>&1 || die "$(tail "$copy/log")"
    "$root/scripts/stack.sh" --dir "$copy/stack" up --with cluster >"$copy/log" 2>&1 || die "$(tail "$copy/log")"
    eval "$("$root/scripts/stack.sh" --dir "$copy/stack" env)"
    export SECKILL_TEST_DATABASE=$SECKILL_DATABASE SECKILL_TEST_REDIS=$SECKILL_REDIS
    export SECKILL_TEST_STOCK_REDIS=$SECKILL_STOCK_REDIS SECKILL_TEST_STACK=$copy/stack
    export SECKILL_TEST_STACK_SH=$root/scripts/stack.sh
    [ -z "${SECKILL_AMQP:-}" ] || export SECKILL_TEST_AMQP=$SECKILL_AMQP
    [ -z "${SECKILL_REDLOCK:-}" ] || export SECKILL_TEST_REDLOCK=$SECKILL_REDLOCK
    [ -z "${SECKILL_MEMCACHED:-}" ] || export SECKILL_TEST_MEMCACHED=$SECKILL_MEMCACHED
    [ -z "${SECKILL_ZOOKEEPER:-}" ] || export SECKILL_TEST_ZOOKEEPER=$SECKILL_ZOOKEEPER
    export SECKILL_TEST_CLUSTER=$SECKILL_CLUSTER
  fi
}

# What a test that went red left killed.
mend_stack() {
  "$SECKILL_TEST_STACK_SH" --dir "$SECKILL_TEST_STACK" up >/dev/null 2>&1 || die "the stack does not come up again"
}

# Whether PostgreSQL can read schema and statements, and Redis the script. Nothing is left behind.
is_readable() { # FILE
  case $1 in
    *.sql)
      {
        echo 'BEGIN; CREATE SCHEMA mutated; SET LOCAL search_path = mutated; CREATE TABLE seckill_schema (version integer);'
        cat "$copy/sql/schema.sql"
        awk '/^-- name: / { name = $3; next } /^--/ { next } /^$/ { if (text) print text ";"; text = ""; name = ""; next }
             name && !/^(BEGIN|COMMIT|ROLLBACK|DEALLOCATE|DISCARD)/ { text = text (text ? "\n" : "PREPARE " name " AS ") $0 }
             END { if (text) print text ";" }' "$copy/sql/statements.sql"
        echo 'ROLLBACK;'
      } | psql -qXd "$SECKILL_TEST_DATABASE" -v ON_ERROR_STOP=1
      ;;
    *.lua) redis-cli -s "${SECKILL_TEST_REDIS#unix://}" -e SCRIPT LOAD "$(cat "$copy/$1")" ;;
  esac >"$copy/log" 2>&1
}

are_readable() { # INDEX
  local file
  for file in $(files_of "$1"); do is_readable "$file" || return 1; done
}

# --- the work ---

# Which test noticed, and what.
noticed() {
  local test what
  test=$(sed -n 's/^\[  FAILED  \] \(.*[a-z].*\)/\1/p' "$copy/log" | grep -v 'test(s)' | head -n 1)
  what=$(grep -m 1 -oE 'test_[a-z_]+\.c:[0-9]+: error|[a-z_]+\.c:[0-9]+: error' "$copy/log" || true)
  echo "${test:-the program failed} ${what:+(${what%: error})}"
}

mutate() { # INDEX
  local program=${programs[$1]} file begun=$EPOCHREALTIME result=red note='' status=0
  for file in $(files_of "$1"); do cp -p "$copy/$file" "$copy/$file.original"; done
  if ! change "$1" "$copy"; then
    result=MISPLACED
  elif ! are_readable "$1"; then
    result=UNREADABLE note=$(tail -n 1 "$copy/log")
  elif ! build "$program"; then
    result=UNREADABLE note=$(grep -m 1 error: "$copy/log")
  else
    run_test "$program" "${patterns[$1]}" || status=$?
    case $status in
      0) result=SURVIVES note="$program ${patterns[$1]}" ;;
      77) result=SKIPPED note=$(tail -n 1 "$copy/log") ;;
      124) note='the test did not come to its end' ;;
      *) note=$(noticed) ;;
    esac
    [ $status = 0 ] || mend_stack
  fi
  # A new time: what was built from the changed file is built again.
  for file in $(files_of "$1"); do mv "$copy/$file.original" "$copy/$file" && touch "$copy/$file"; done
  tell "$1" "$result" "$begun" "$note"
}

tell() { # INDEX RESULT BEGUN NOTE
  results[$2]=$((${results[$2]:-0} + 1))
  printf '%-10s %5.1f  %-62s %s\n' "$2" "$(awk "BEGIN { print $EPOCHREALTIME - $3 }")" "${names[$1]}" "$4"
  case $2 in red | SKIPPED) ;; *) failures=$((failures + 1)) ;; esac
}

# The tests that the program's mutations name, with nothing taken away.
run_unchanged() { # PROGRAM INDEX…
  local program=$1 i all=''
  shift
  for i in "$@"; do all+=${all:+|}${patterns[i]}; done
  build "$program" || { tail -n 20 "$copy/log"; die "the copy does not build"; }
  if ! run_test "$program" "$all"; then
    tail -n 30 "$copy/log"
    echo "$program is red without a mutation: $(noticed)"
    mend_stack
    failures=$((failures + $#))
  fi
}

mutate_all() {
  local program i
  while read -r program; do
    local of=()
    for i in "${!names[@]}"; do if [ "${programs[i]}" = "$program" ]; then of+=("$i"); fi; done
    if ! is_built_here "$program"; then
      for i in "${of[@]}"; do tell "$i" SKIPPED "$EPOCHREALTIME" "$program is not built here"; done
      continue
    fi
    for i in "${of[@]}"; do mutate "$i"; done
    run_unchanged "$program" "${of[@]}"
  done < <(printf '%s\n' "${programs[@]}" | sort -u)
}

main() {
  local check='' result
  while [ $# -gt 0 ]; do
    case $1 in
      --few) few=1 ;;
      --check) check=1 ;;
      -*) die "unknown argument $1" ;;
      *) pattern=$1 ;;
    esac
    shift
  done
  read_table
  check_table
  if [ -n "$check" ]; then echo "all ${#names[@]} mutations fit the sources"; return 0; fi
  make_copy
  with_stack
  mutate_all
  for result in "${!results[@]}"; do echo "${results[$result]} $result"; done
  [ $failures = 0 ] || die "$failures of ${#names[@]} mutations were not noticed"
  echo "all mutations were noticed, in $SECONDS seconds"
}

main "$@"
