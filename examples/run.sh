#!/usr/bin/env bash
# A shop of examples/ on backends of its own, in the foreground. Ctrl-C ends all of it and leaves nothing behind.
#
#   run.sh SHOP [--way WAY] [--unsafe] [--port N] [--stack DIR] [--judge | -- COMMAND...]
#
# SHOP is flask, node, mariadb (WAY: pessimistic, which is the usual one, optimistic, short, redis-lock), recipes,
# recipes-node, recipes-java or recipes-go (WAY: conditional, the usual one, optimistic, early-release, redis-token,
# redis-stock), or vendure, a real one from npm (WAY: 3.7.3, the usual one, or next). --unsafe takes the protection out;
# with recipes it takes the mistake in the recipe's place. With a COMMAND the shop runs as long as that does, and the exit
# status is the command's: run.sh flask --unsafe -- seckill-loadtest shop examples/flask/shop.yaml
#
# --judge is that command: it builds the harness first, and what stands behind `--` are the harness's options.
#
# The command, and whoever judges the shop from another terminal, finds it through the environment: SHOP_URL, SHOP_WAY,
# SHOP_DATABASE (a conninfo), SHOP_MARIADB (a socket). Without --port the kernel chooses a free one of 127.0.0.1.
# With --stack the shop sells on the backends that scripts/stack.sh has started in DIR, and leaves them and its tables
# there. Installs what is missing first. Node's shops want express, pg and redis: Debian's where they are installed, else npm's,
# which are fetched once into .cache/examples.
#
# How it fails: exit status 77 where Node or its packages cannot be had. A shop that ends before it listens ends this
# with its exit status; what it said is on stderr.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
source "$here/../scripts/lib.sh"

usage() { sed -n '4s/^# *//p' "${BASH_SOURCE[0]}" >&2; die "${1:-which shop?}"; }

shop=${1:-} port=0 given='' judge='' with=() shop_pid=''
[ $# = 0 ] || shift
while [ $# -gt 0 ]; do
  case $1 in
    --way) export SHOP_WAY=${2:?--way takes a name}; shift ;;
    --unsafe) export SHOP_UNSAFE=1 ;;
    --port) port=${2:?--port takes a number}; shift ;;
    --judge) judge=1 ;;
    --stack) given=${2:?--stack takes a folder}; shift ;;
    --) shift; break ;;
    *) usage "unknown argument $1" ;;
  esac
  shift
done

case $shop in
  flask)
    packages=(python3:/usr/bin/python3 python3-flask python3-psycopg2)
    program=(/usr/bin/python3 "$here/flask/shop.py")
    ;;
  mariadb)
    packages=(python3:/usr/bin/python3 python3-flask python3-pymysql python3-redis mariadb-server-core:mariadbd
      mariadb-client-core:mariadb)
    with=(--with mariadb)
    program=(/usr/bin/python3 "$here/mariadb/shop.py")
    ;;
  node)
    packages=()
    program=(node "$here/node/shop.js")
    ;;
  recipes | recipes-*) export SHOP_WAY=${SHOP_WAY:-conditional} ;;&
  recipes)
    packages=(python3:/usr/bin/python3 python3-psycopg2 python3-redis)
    program=(/usr/bin/python3 "$here/recipes/python/host.py")
    ;;
  recipes-node)
    [ -z "${SHOP_UNSAFE:-}" ] || usage "the mistakes are in Python: recipes --unsafe"
    packages=()
    program=(node "$here/recipes/node/host.js")
    ;;
  recipes-java)
    packages=("${java_packages[@]}")
    jars=$(printf ':/usr/share/java/%s.jar' postgresql HikariCP slf4j-api slf4j-nop junixsocket-common aopalliance \
      commons-logging spring3-{aop,beans,core,jdbc,transaction})
    program=(java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$root/build/recipes-java$jars" Host)
    ;;
  recipes-go)
    packages=("${go_packages[@]}")
    program=("$root/build/recipes-go/host")
    ;;
  vendure)
    [ -z "${SHOP_UNSAFE:-}" ] || usage "vendure is judged as it is; its versions are its ways: 3.7.3 and next"
    packages=()
    export SHOP_WAY=${SHOP_WAY:-3.7.3}
    program=(node "$here/vendure/shop.js")
    ;;
  *) usage "there is no shop ${shop:-without a name}: flask, node, mariadb, recipes, recipes-node, -java, -go, or vendure" ;;
esac

# Vendure and what it needs, as the versions were when it was judged; no package's script is run.
find_vendure() {
  local kept=$root/.cache/examples/vendure-$SHOP_WAY wanted=$here/vendure/package-$SHOP_WAY.json
  [ -f "$wanted" ] || usage "no such version of vendure: 3.7.3 or next"
  command -v npm >/dev/null || { say "there is no npm: apt-get install nodejs npm"; exit 77; }
  node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' ||
    { say "vendure wants Node 20 or newer, and this is $(node --version)"; exit 77; }
  export NODE_PATH=$kept/node_modules
  cmp -s "$wanted" "$kept/node_modules/seckill-wanted" && return
  mkdir -p "$kept"
  cp "$wanted" "$kept/package.json"
  say "npm install: $(sed -n 's/.*"\(@vendure.core\)": "\([^"]*\)".*/\1 \2/p' "$wanted"), some 450 packages"
  npm install --prefix "$kept" --before 2026-11-26 --ignore-scripts --no-audit --no-fund >"$kept/npm.log" 2>&1 ||
    { tail -n 20 "$kept/npm.log" >&2; say "npm has not fetched them"; exit 77; }
  cp "$wanted" "$kept/node_modules/seckill-wanted"
}

# Node's packages: Debian's own where they are installed, else those of package-lock.json, fetched once and kept.
find_modules() {
  local kept=$root/.cache/examples
  command -v node >/dev/null || { say "there is no node: apt-get install nodejs"; exit 77; }
  export NODE_PATH=/usr/share/nodejs
  node -e 'for (const name of ["express", "pg", "redis"]) require(name)' 2>/dev/null && return
  export NODE_PATH=$kept/node_modules
  fetch_modules "$here" "$kept" || { say "without npm's: apt-get install node-express node-pg node-redis"; exit 77; }
}

# Java's and Go's recipes, in build/; again where a source is newer.
compile() {
  local to=$root/build/$shop from=$here/recipes/${shop#recipes-}
  [ -z "$(find "$from" -newer "$to/compiled" 2>&1)" ] && return
  say "compiling examples/recipes/${shop#recipes-}"
  mkdir -p "$to"
  case $shop in
    recipes-java) javac -d "$to" -cp "$jars" "$from"/*.java ;;
    recipes-go)   # from Debian's packages, without modules
      (cd "$from" && GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$to/cache CGO_ENABLED=0 go build -o "$to/host" .) ;;
  esac || die "they do not compile"
  touch "$to/compiled"
}

stop_shop() {
  rm -f "$stack_dir/shop.out"
  [ -n "$shop_pid" ] || return 0
  kill -s TERM "$shop_pid" 2>/dev/null || true
  wait "$shop_pid" 2>/dev/null || true
}

end() { # to its end, however often Ctrl-C is pressed
  trap '' INT TERM HUP
  stop_shop
  [ -z "$given" ] || return 0
  "$stack" --dir "$stack_dir" down --purge
  rm -f "$stack_dir/user"
  rmdir --ignore-fail-on-non-empty "$stack_dir"
}

find_backends() {
  local settings
  if [ -z "$given" ]; then
    use_stack "$root/.stack/examples/$shop" fresh "${with[@]}"
  else
    stack_dir=$given
    settings=$("$stack" --dir "$given" env)
    eval "$settings"
  fi
  trap end EXIT
  export SHOP_DATABASE=$SECKILL_DATABASE SHOP_REDIS=$SECKILL_STOCK_REDIS SHOP_MARIADB=${SECKILL_MARIADB:-}
}

# Its first line says where it listens.
start_shop() {
  local line=''
  : >"$stack_dir/shop.out"
  SHOP_PORT=$port PYTHONDONTWRITEBYTECODE=1 "${program[@]}" >"$stack_dir/shop.out" 8>&- &
  shop_pid=$!
  until read -r line <"$stack_dir/shop.out"; do
    kill -0 "$shop_pid" 2>/dev/null || { wait "$shop_pid" || exit $?; exit 1; }
    sleep 0.05
  done
  export SHOP_URL=${line#listening on }
}

[ -z "$judge" ] || packages+=("${build_packages[@]}")
install_packages "${run_packages[@]}" "${packages[@]}"
if [ -n "$judge" ]; then
  build release seckill-loadtest
  set -- "$root/build/release/loadtest/seckill-loadtest" shop "$here/${shop%%-*}/shop.yaml" "$@"
fi
case $shop in
  vendure) find_vendure ;;
  recipes-java | recipes-go) compile ;;
  *) [ "${program[0]}" != node ] || find_modules ;;
esac
trap pass_on INT TERM HUP
find_backends
start_shop
if [ $# -gt 0 ]; then
  "$@" 8>&- &
  child=$!
  wait_child
else
  cat <<END
$shop${SHOP_UNSAFE:+, without its protection,} sells at $SHOP_URL. Judge it from another terminal:

  export SHOP_URL='$SHOP_URL' SHOP_DATABASE='$SHOP_DATABASE' SHOP_MARIADB='$SHOP_MARIADB' SHOP_WAY='${SHOP_WAY:-}'
  (cd '$root' && cmake --fresh --preset release && cmake --build build/release --target seckill-loadtest)
  '$root/build/release/loadtest/seckill-loadtest' shop '$here/${shop%%-*}/shop.yaml'

Ctrl-C stops all of it.
END
  child=$shop_pid
  wait_child || true
fi
