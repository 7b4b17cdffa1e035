#!/usr/bin/env bash
# The matrix of faults in one command: every strategy under every fault, three runs of each (docs/FAULTS.md). Installs
# what is missing, builds, starts a private PostgreSQL, Redis and what else strategies need, breaks them while they
# sell, and stops everything again. About two hours on two cores; with --short some two minutes.
#
#   faults.sh --at-once 4 [OPTION...]   the columns on four stacks at once, joined in one matrix
#
# Other arguments go to seckill-loadtest faults and win over those given here: faults.sh --runs 20 --faults stall
# The exit status is the harness's: 0 when every cell is as its promise has it and every control was seen to fail.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

at_once='' columns='' out=results/faults-$(date +%Y%m%d-%H%M%S) options=() junit=()

# Of one matrix in columns: the columns and the folder are divided here.
take_options() { # OPTION...
  while [ $# -gt 0 ]; do
    case $1 in
      --faults) columns=${2:?--faults takes columns} && shift 2 ;;
      --out) out=${2:?--out takes a folder} && shift 2 ;;
      --junit) junit=("$1" "${2:?--junit takes a file}") && shift 2 ;;
      --short | --reproduce | --join | --fail-if) die "--at-once is for whole columns: not with $1" ;;
      *) options+=("$1") && shift ;;
    esac
  done
}

if [ "${1:-}" = --at-once ]; then
  at_once=${2:-}
  [[ "$at_once" =~ ^[1-9][0-9]?$ ]] || die "--at-once takes a number of stacks, 1 to 99"
  shift 2
  take_options "$@"
else
  options=("$@")
fi

install_packages "${build_packages[@]}" "${run_packages[@]}" "${component_packages[@]}"
build release seckill-server seckill-loadtest
check_strategies "$root/build/release/server/seckill-server" ${options[0]+"${options[@]}"}
build dev seckill-server # has the test's strategy that is the control of a column
cd "$root"
loadtest=build/release/loadtest/seckill-loadtest

break_things() { # OPTION...: on the stack of use_stack
  "$loadtest" faults --server-binary build/release/server/seckill-server \
    --control-binary build/dev/server/seckill-server --stack "$stack --dir $stack_dir" "$@" &
  child=$!
  wait_child
}

if [ -z "$at_once" ]; then
  trap pass_on INT TERM HUP
  use_stack "$root/.stack/faults" fresh --with all
  break_things ${options[0]+"${options[@]}"}
  exit
fi

[ -n "$columns" ] && [ "$columns" != all ] ||
  columns=$("$loadtest" faults --help | awk '/^Faults$/ { on = 1; next } NF == 0 { on = 0 } on { print $1 }')
columns=${columns//,/ }
for column in $columns; do
  [ ! -e "$out/$column" ] || die "$out/$column is there already: --out takes a new folder"
done
mkdir -p "$out" "$root/.stack"

# No strategy of those chosen has a cell there, or (--promised) one that is held to anything.
has_no_cell() { # COLUMN
  grep -qsE ': (there is no cell to run|no cell is held to a promise there)$' "$out/$1/said.txt"
}

# Each worker takes the next column that nobody has, until there is none; the stacks are started one after the other,
# or two could choose the same port. A column that was not finished has no faults.json, and the join says so.
work() { # NUMBER
  local stopped='' column
  trap 'stopped=1; pass_on' INT TERM HUP
  exec 7>"$root/.stack/starting"
  flock 7
  use_stack "$root/.stack/faults-$1" fresh --with all 7>&-
  exec 7>&-
  for column in $columns; do
    mkdir "$out/$column" 2>/dev/null || continue
    say "$column: begun at $(date +%H:%M); $out/$column/said.txt"
    break_things --faults "$column" --out "$out/$column" ${options[0]+"${options[@]}"} >"$out/$column/said.txt" 2>&1 ||
      true # the join judges it
    [ -e "$out/$column/faults.json" ] || say "$column: $(tail -n 1 "$out/$column/said.txt")"
    [ -z "$stopped" ] || exit 130
  done
}

workers=() stopped=''
stop_workers() {
  stopped=1
  kill -s TERM "${workers[@]}" 2>/dev/null || true
}
for ((i = 1; i <= at_once; i++)); do
  work "$i" &
  workers+=($!)
done
trap stop_workers INT TERM HUP
for i in "${!workers[@]}"; do
  while kill -0 "${workers[i]}" 2>/dev/null; do wait "${workers[i]}" || true; done
  unset "workers[i]" # its id may soon be a stranger's
done
[ -z "$stopped" ] || die "stopped; what is complete is below $out"
made=$(for column in $columns; do has_no_cell "$column" || printf ',%s' "$out/$column"; done)
[ -n "$made" ] || die "there is no cell to run in any of these columns"
"$loadtest" faults --join "${made#,}" --out "$out" ${junit[0]+"${junit[@]}"}
