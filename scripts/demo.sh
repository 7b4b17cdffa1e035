#!/usr/bin/env bash
# The comparison in one command: which strategies oversold, and how fast each was, with one instance and with three.
# Installs what is missing, builds, starts a private PostgreSQL and Redis, runs the harness, and stops everything
# again. The harness prints the table, and ends by naming the report and the figures behind it. Under five minutes on
# two cores. Last, holders of two Redis locks are stopped for longer than their lease (the column `stall` of
# docs/FAULTS.md), and what each sold then is said in units.
#
# With --pause in front: that alone, half a minute.
#
# With --all in front: every strategy, also those that need RabbitMQ, three more Redis, memcached or ZooKeeper, which
# it installs and starts like the rest. Each is loaded half as long; under fifteen minutes.
#
# With --articles in front: not the comparison, but the experiments of the articles (docs/ARTICLES.md), with RabbitMQ.
#
# With --oasis in front: not the comparison, but one great sale: 1,400,000 tickets, at most four a buyer, sold to the last
# one and audited from the rows. A minute or two. The arguments behind it go to seckill-loadtest oasis.
#
# Other arguments go to seckill-loadtest run and win over those given here: demo.sh --duration 10s --strategies batch
# The exit status is the harness's: 0 when every strategy kept what it promises.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command=run pause='' load=(--scenario hot --instances "1,3" --rounds 2) doing="measuring, which takes about 3 minutes"
packages=("${build_packages[@]}" "${run_packages[@]}") components=()
case ${1:-} in
  --pause)
    shift
    [ $# = 0 ] || die "--pause takes no other arguments"
    command='' pause=1
    ;;
  --all)
    shift
    pause=1
    load+=(--duration 2s --strategies all) doing="measuring, which takes about 8 minutes"
    packages+=("${component_packages[@]}") components=(--with all)
    ;;
  --articles)
    shift
    load=(--scenario articles) doing="measuring, which takes about 2 minutes"
    packages+=(librabbitmq-dev rabbitmq-server) components=(--with rabbitmq)
    ;;
  --oasis)
    shift
    command=oasis load=() doing="selling, which takes a minute or two"
    ;;
  *)
    pause=1
    load+=(--duration 4s --strategies "none,local-lock,pessimistic,conditional,redis-token,redis-fenced,redis-queue")
    ;;
esac
[ $# = 0 ] || pause='' # the run that was asked for, alone

harness() { # COMMAND [OPTION]...
  build/release/loadtest/seckill-loadtest "$1" --server-binary build/release/server/seckill-server "${@:2}" &
  child=$!
  wait_child
}

# Cells that are as promised end with 0. A late holder may also have written a cancel away: then the stock has lost what
# nobody bought, and another seed shows what was meant.
stop_holders() {
  local said=$root/.stack/demo/pause.txt code=0 seed sold=''
  say "half a minute more: a lock's holder stands still past its lease"
  for seed in 1 2 3 4 5; do
    harness faults --strategies redis-token,redis-fenced --faults stall --runs 1 --seed $seed >"$said" 2>&1 || code=$?
    [ $code = 0 ] || { cat "$said"; return $code; }
    sold=$(sed -n 's|.* redis-token/stall, .*: RED: \([0-9]*\) units*: sold that the stock never lost.*|\1|p' "$said")
    [ -z "$sold" ] || break
  done
  grep -q ' redis-fenced/stall, .*: clean' "$said" || { cat "$said"; die "redis-fenced was not seen to refuse"; }
  echo
  echo "redis-token sold ${sold:-none} that it did not have while its holder stood still"
  cat <<'END'
redis-fenced refused it

Redis gives the lock away when its lease is over; the late holder does not
know, and writes the stock that it had read before. redis-fenced's UPDATE also
asks the row for the holder's number, and a late holder's finds nothing.
Step by step: docs/strategies/redis-locks.md. All of it: ./scripts/faults.sh
END
}

install_packages "${packages[@]}"
build release seckill-server seckill-loadtest
check_strategies "$root/build/release/server/seckill-server" "$@"
trap pass_on INT TERM HUP
use_stack "$root/.stack/demo" fresh "${components[@]}"
cd "$root"
code=0
if [ -n "$command" ]; then
  [ $# -gt 0 ] || say "$doing"
  harness "$command" "${load[@]}" "$@" || code=$?
fi
[ -z "$pause" ] || [ $code -gt 1 ] || stop_holders || code=$?
exit $code
