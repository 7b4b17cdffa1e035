#!/usr/bin/env bash
# The comparison in one command: which strategies oversold, and how fast each was, with one instance and with three.
# Installs what is missing, builds, starts a private PostgreSQL and Redis, runs the harness, and stops everything
# again. The harness prints the table, and ends by naming the report and the figures behind it. Under five minutes on
# two cores.
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

command=run load=(--scenario hot --instances "1,3" --rounds 2) doing="measuring, which takes about 3 minutes"
packages=("${build_packages[@]}" "${run_packages[@]}") components=()
case ${1:-} in
  --all)
    shift
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
  *) load+=(--duration 4s --strategies "none,local-lock,pessimistic,optimistic,conditional,redis-queue") ;;
esac

install_packages "${packages[@]}"
build release seckill-server seckill-loadtest
trap pass_on INT TERM HUP
use_stack "$root/.stack/demo" fresh "${components[@]}"
cd "$root"
[ $# -gt 0 ] || say "$doing"
build/release/loadtest/seckill-loadtest "$command" --server-binary build/release/server/seckill-server "${load[@]}" "$@" &
child=$!
wait_child
