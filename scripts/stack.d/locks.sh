# Part of stack.sh: memcached and ZooKeeper, for the locks in them.

has_memcached() { command -v memcached >/dev/null; }

listens_at() { awk -v path="$1" '$4 == "00010000" && $8 == path { found = 1 } END { exit !found }' /proc/net/unix; }

up_memcached() { # -M: full means an error, never a lock thrown out
  launched=
  if ! pid_of memcached >/dev/null; then
    wait_gone memcached 20 || die "processes of a killed memcached are still in $home/memcached"
    make_private "$home/memcached"
    launch memcached "$(command -v memcached)" -s "$sockets/memcached.sock" -a 700 -M -m 16
  fi
  wait_answer memcached 60 listens_at "$sockets/memcached.sock"
}

env_memcached() { printf 'export %s=%q\n' SECKILL_MEMCACHED "unix://$sockets/memcached.sock"; }

# Alone and on a port of 127.0.0.1, which is kept from start to start; leases as short as a test wants them.
has_zookeeper() { [ -f /usr/share/java/zookeeper.jar ] && command -v java >/dev/null; }

zookeeper_answers() ( # PORT
  exec 3<>"/dev/tcp/127.0.0.1/$1"
  printf 'srvr' >&3
  [ "$(timeout 2 head -c 9 <&3)" = Zookeeper ]   # "This ZooKeeper instance is not currently serving requests"
)

start_zookeeper() {
  local port='' folder=$home/zookeeper
  wait_gone zookeeper 20 || die "processes of a killed ZooKeeper are still in $folder"
  [ ! -f "$dir/zookeeper.access" ] || read -r port <"$dir/zookeeper.access"
  if [ -z "$port" ] || is_taken "$port"; then port=$(free_port); fi
  echo "$port" >"$dir/zookeeper.access"
  make_private "$folder"
  printf '%s\n' "dataDir=$folder/data" "clientPort=$port" clientPortAddress=127.0.0.1 tickTime=200 \
    minSessionTimeout=400 maxSessionTimeout=600000 maxClientCnxns=0 admin.enableServer=false \
    4lw.commands.whitelist=srvr | put "$folder/zoo.cfg"
  launch zookeeper "$(command -v java)" -Xmx128m -Dzookeeper.preAllocSize=1024 \
    -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
    org.apache.zookeeper.server.ZooKeeperServerMain "$folder/zoo.cfg"
}

up_zookeeper() {
  local port
  launched=
  pid_of zookeeper >/dev/null || start_zookeeper
  read -r port <"$dir/zookeeper.access"
  wait_answer zookeeper 120 zookeeper_answers "$port"
}

env_zookeeper() { printf 'export %s=%q\n' SECKILL_ZOOKEEPER "127.0.0.1:$(cat "$dir/zookeeper.access")"; }
