# shellcheck shell=bash disable=SC2034  # what seems unused is for those who read this file
# What the scripts here share; read with `source`. It installs Debian packages that are missing, builds,
# keeps one child in the foreground, and stops the stack at the end however the end came.
#
# A package install starts no service: PostgreSQL makes no cluster and the system's redis-server stays off, through
# two files that are there only while apt-get runs. Where everything is installed, nothing here needs root or a network.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
stack=$root/scripts/stack.sh
me=$(basename "$0")
# What is on this machine is asked itself, whatever proxy the environment has for the rest.
no_proxy=${no_proxy:-${NO_PROXY:-}}
[ "$no_proxy" = '*' ] || no_proxy+=,127.0.0.1,localhost,::1
export no_proxy NO_PROXY=$no_proxy

# PACKAGE, or PACKAGE:COMMAND where the command is what counts, whoever installed it
build_packages=(gcc:gcc libc6-dev cmake:cmake ninja-build:ninja pkg-config:pkg-config libmicrohttpd-dev libjansson-dev
  libpq-dev libhiredis-dev libssl-dev libcurl4-openssl-dev libyaml-dev libcmocka-dev)
run_packages=(postgresql:/usr/lib/postgresql redis-server:redis-server redis-tools:redis-cli wrk:wrk curl:curl
  util-linux:flock)
bench_packages=(nginx-light:nginx)   # a point of reference
# what some strategies need besides: client libraries to build with, servers for stack.sh --with
component_packages=(librabbitmq-dev rabbitmq-server libmemcached-dev memcached:memcached libzookeeper-mt-dev
  libzookeeper-java default-jre-headless:java)
# cluster.sh: nodes that elect a primary
cluster_packages=(patroni:patroni python3-etcd etcd-server:etcd iproute2:ip tini:tini
  pgbouncer:pgbouncer haproxy:haproxy)
# examples/: what its shops are written with and sell on. A MariaDB without its service. Where there is an npm, its Node
# may be a stranger's, with which Debian's modules conflict: there examples/run.sh fetches them.
java_packages=(default-jdk-headless:javac libpostgresql-jdbc-java libhikaricp-java libspring-jdbc-java libspring-aop-java
  libjunixsocket-java libjunixsocket-jni)
go_packages=(golang-go:go golang-github-lib-pq-dev golang-gopkg-redis.v5-dev)
example_packages=(python3-flask python3-psycopg2 python3-pymysql python3-redis
  mariadb-server-core:mariadbd mariadb-client-core:mariadb "${java_packages[@]}" "${go_packages[@]}")
command -v npm >/dev/null || example_packages+=(node-express node-pg node-redis)
# clang-19: what Debian 13 calls clang; it warns of more than Debian 12's
test_packages=(lld:ld.lld clang:clang clang-19:clang-19 clang-format:clang-format clang-tidy:clang-tidy
  cppcheck:cppcheck shellcheck:shellcheck mandoc:mandoc spin:spin
  haproxy:haproxy docker-compose pgbouncer:pgbouncer prometheus:promtool git:git openssl:openssl python3:python3 python3-yaml
  python3-jsonschema npm:npm)
# Debian 12 has none.
! grep -qsx 'VERSION_CODENAME=trixie' /etc/os-release || test_packages+=(valkey-server:valkey-server)
# Ubuntu has Chromium as a snap alone, which a test cannot drive: there the page's test is skipped.
! grep -qsx 'ID=debian' /etc/os-release ||
  test_packages+=(chromium:chromium chromium-driver:chromedriver chromium-sandbox python3-selenium)

say() { echo "$me: $*"; }
die() { echo "$me: $*" >&2; exit 1; }

# --- packages ---

is_installed() { # PACKAGE[:COMMAND]
  case $1 in
    *:/usr/lib/postgresql) compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null ;;
    *:*) PATH=$PATH:/usr/sbin command -v "${1#*:}" >/dev/null ;;
    *) [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
  esac
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

readonly policy=/usr/sbin/policy-rc.d no_cluster=/etc/postgresql-common/createcluster.d/seckill.conf
readonly policy_mark='# seckill: only while its packages are being installed'

hold_services() {
  as_root mkdir -p "$(dirname $no_cluster)"
  echo 'create_main_cluster = false' | as_root tee $no_cluster >/dev/null
  if [ ! -e $policy ]; then
    printf '#!/bin/sh\n%s\nexit 101\n' "$policy_mark" | as_root tee $policy >/dev/null
    as_root chmod 755 $policy
  fi
}

release_services() {
  as_root rm -f $no_cluster
  if grep -qsF "$policy_mark" $policy; then as_root rm -f $policy; fi
}

apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }

install_packages() { # PACKAGE[:COMMAND]...
  local package log missing=()
  for package in "$@"; do is_installed "$package" || missing+=("${package%%:*}"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || die "this needs ${missing[*]}; there is no apt-get to install them"
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || die "as root: apt-get install ${missing[*]}"
  say "installing ${missing[*]}"
  log=$(mktemp)
  trap release_services EXIT
  hold_services
  if ! { apt update && apt install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    die "apt-get install ${missing[*]} failed; all that it said is in $log"
  fi
  release_services
  trap - EXIT
  rm "$log"
}

# What FOLDER/package-lock.json names of npm's, fetched once and kept in KEPT/node_modules; no package's script is run.
fetch_modules() { # FOLDER KEPT; not 0: it cannot be had, and why was said
  cmp -s "$1/package-lock.json" "$2/node_modules/seckill-lock" && return
  command -v npm >/dev/null || { say "there is no npm"; return 1; }
  mkdir -p "$2"
  cp "$1/package.json" "$1/package-lock.json" "$2"
  say "npm ci: $(sed -n 's/.*"dependencies": {\(.*\)}.*/\1/p' "$1/package.json")"
  npm ci --prefix "$2" --ignore-scripts --no-audit --no-fund >"$2/npm.log" 2>&1 ||
    { tail -n 20 "$2/npm.log" >&2; say "npm has not fetched them"; return 1; }
  cp "$1/package-lock.json" "$2/node_modules/seckill-lock"
}

# --- building ---

build() ( # PRESET [TARGET]...: quiet unless it fails; one at a time in a tree
  preset=$1 tree=$root/build/$1 log=$root/build/$1/build.log
  shift
  mkdir -p "$tree"
  exec {lock}>"$tree/.lock"
  flock $lock
  # A checkout that was moved: CMake refuses what it configured elsewhere.
  grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$tree/CMakeCache.txt" || rm -rf "$tree/CMakeCache.txt" "$tree/CMakeFiles"
  say "building build/$preset"
  if ! (cd "$root" && cmake --preset "$preset" &&
    cmake --build "$tree" --parallel "$(nproc)" --target "${@:-all}") >"$log" 2>&1; then
    grep -m 1 -A 20 -e '^FAILED' -e 'CMake Error' "$log" >&2 || tail -n 20 "$log" >&2
    die "the build failed: $log"
  fi
)

# Ends with status 2, and the name that may have been meant, where one is not among the server's, which is asked itself.
# Before a stack is started: what is mistyped is known at once.
check_strategies() { # SERVER [OPTION]...: names are taken from --strategies, --strategy and --reproduce
  local server=$1 names=() name said
  while shift && [ $# -gt 0 ]; do
    case $1 in
      --strategies | --strategy | --reproduce) IFS=, read -r -a names <<<"${2:-}" ;;
      --strategies=* | --strategy=* | --reproduce=*) IFS=, read -r -a names <<<"${1#*=}" ;;
      *) continue ;;
    esac
    for name in "${names[@]%%/*}"; do
      case $1:$name in --strategies*:all | --strategies*:usual | *:control-*) continue ;; esac
      said=$("$server" --print-schema --default-strategy "$name" 2>&1 >/dev/null) && continue
      said=${said#*default-strategy: }
      echo "$me: ${said/--help/$server --help}" >&2
      exit 2
    done
  done
}

# --- the stack, and one child ---

child='' interrupted='' stack_dir=''

# Starts the stack in DIR, puts its addresses into the environment and stops it at the end. A script has its DIR to
# itself, or the one that ends first would take the other's servers away. The servers do not inherit that lock.
use_stack() { # DIR [fresh [OPTION...]]; options are those of stack.sh up
  local settings
  mkdir -p "$1"
  stack_dir=$1
  exec 8>"$1/user"
  flock -n 8 || die "another $me is at work in this checkout"
  [ "${2:-}" != fresh ] || "$stack" --dir "$1" down --purge 8>&-
  trap leave_stack EXIT
  "$stack" --dir "$1" up "${@:3}" 8>&-
  settings=$("$stack" --dir "$1" env)
  eval "$settings"
}

leave_stack() { # to its end, however often Ctrl-C is pressed
  trap '' INT TERM HUP
  "$stack" --dir "$stack_dir" down
}

# A signal for the script is passed on to its child as a TERM, and the script ends when the child has.
pass_on() {
  interrupted=1
  [ -n "$child" ] || exit 130
  kill -s TERM "$child" 2>/dev/null || true
}

wait_child() { # to the end of it; its exit status
  local code
  while :; do
    interrupted='' code=0
    wait "$child" || code=$?
    [ -n "$interrupted" ] || { child='' && return $code; } # its id may soon be a stranger's
  done
}
