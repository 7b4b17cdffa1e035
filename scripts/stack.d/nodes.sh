# Part of cluster.sh: what some strategies need besides PostgreSQL, on all three nodes: RabbitMQ whose quorum queues need
# two of them, ZooKeeper of which two agree, and a Redis with two replicas and three Sentinels.
# shellcheck shell=bash disable=SC2154  # cluster.sh's

others=(rabbitmq zookeeper redis)

packages_of() { # NAME
  case $1 in
    rabbitmq) echo rabbitmq-server ;;
    zookeeper) printf '%s\n' libzookeeper-java default-jre-headless:java ;;
    redis) echo redis-server:redis-server ;;
  esac
}

begins_with() ( # TEXT NODE PORT WORDS: what it answers to these words
  exec 3<>"/dev/tcp/$(address "$2")/$3"
  printf "$4" >&3
  [ "$(timeout 2 head -c ${#1} <&3 | tr '\0' ' ')" = "$1" ]
) 2>/dev/null

# --- RabbitMQ: started together, they find each other ---

write_rabbitmq() { # NODE
  local node folder=$home/$1/rabbitmq
  mkdir "$folder"
  {
    printf '%s\n' 'default_user = seckill' 'default_pass = seckill' 'loopback_users = none' \
      'cluster_partition_handling = pause_minority' 'cluster_formation.peer_discovery_backend = classic_config' \
      'raft.wal_max_size_bytes = 67108864' 'log.console.level = warning'
    for node in "${nodes[@]}"; do echo "cluster_formation.classic_config.nodes.${node#n} = rabbit@$(address "$node")"; done
  } >"$folder/rabbitmq.conf"
  echo '[].' >"$folder/enabled_plugins"
  : >"$folder/env.conf"   # not the system's
  echo "$name" >"$folder/.erlang.cookie"
  chmod 400 "$folder/.erlang.cookie"
}

start_rabbitmq() { # NODE
  local folder=$home/$1/rabbitmq
  launch "$1" rabbitmq 0 env HOME="$folder" LANG=C.UTF-8 PATH=/usr/lib/rabbitmq/bin:/usr/bin:/bin \
    RABBITMQ_CONF_ENV_FILE="$folder/env.conf" RABBITMQ_CONFIG_FILE="$folder/rabbitmq.conf" \
    RABBITMQ_ADVANCED_CONFIG_FILE="$folder/advanced.config" RABBITMQ_ENABLED_PLUGINS_FILE="$folder/enabled_plugins" \
    RABBITMQ_MNESIA_BASE="$folder/mnesia" RABBITMQ_LOG_BASE="$folder/log" RABBITMQ_LOGS=- RABBITMQ_PID_FILE="$folder/pid" \
    RABBITMQ_USE_LONGNAME=true RABBITMQ_NODENAME="rabbit@$(address "$1")" RABBITMQ_NODE_IP_ADDRESS="$(address "$1")" \
    RABBITMQ_NODE_PORT=5672 RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='+sbwt none +sbwtdcpu none +sbwtdio none' rabbitmq-server
}

answers_rabbitmq() { begins_with $'\1' "$1" 5672 'AMQP\0\0\11\1'; } # NODE

env_rabbitmq() {
  local node urls=''
  for node in "${nodes[@]}"; do urls+=,amqp://seckill:seckill@$(address "$node"):5672/; done
  printf 'export SECKILL_AMQP=%q\n' "${urls#,}"
}

# --- ZooKeeper ---

write_zookeeper() { # NODE
  local node folder=$home/$1/zookeeper
  mkdir "$folder"
  echo "${1#n}" >"$folder/myid"
  {
    printf '%s\n' "dataDir=$folder" clientPort=2181 "clientPortAddress=$(address "$1")" tickTime=500 initLimit=20 syncLimit=6 \
      minSessionTimeout=1000 maxSessionTimeout=600000 maxClientCnxns=0 admin.enableServer=false 4lw.commands.whitelist=srvr
    for node in "${nodes[@]}"; do echo "server.${node#n}=$(address "$node"):2888:3888"; done
  } >"$folder/zoo.cfg"
}

start_zookeeper() { # NODE
  launch "$1" zookeeper 0 java -Xmx128m -Dzookeeper.preAllocSize=1024 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
    -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
    org.apache.zookeeper.server.quorum.QuorumPeerMain "$home/$1/zookeeper/zoo.cfg"
}

answers_zookeeper() { begins_with Zookeeper "$1" 2181 srvr; } # NODE

env_zookeeper() {
  local node hosts=''
  for node in "${nodes[@]}"; do hosts+=,$(address "$node"):2181; done
  printf 'export SECKILL_ZOOKEEPER=%q\n' "${hosts#,}"
}

# --- Redis: the first node's is the primary, until the Sentinels choose another ---

write_redis() { # NODE
  local folder=$home/$1/redis
  mkdir "$folder"
  printf '%s\n' "bind $(address "$1")" 'port 6379' "dir $folder" 'appendonly yes' 'protected-mode no' >"$folder/redis.conf"
  [ "$1" = n1 ] || echo "replicaof $(address n1) 6379" >>"$folder/redis.conf"
  printf '%s\n' "bind $(address "$1")" 'port 26379' "dir $folder" 'protected-mode no' \
    "sentinel monitor seckill $(address n1) 6379 2" 'sentinel down-after-milliseconds seckill 3000' \
    'sentinel failover-timeout seckill 10000' >"$folder/sentinel.conf"
}

start_redis() { # NODE
  launch "$1" redis 0 redis-server "$home/$1/redis/redis.conf"
  launch "$1" sentinel 0 redis-server "$home/$1/redis/sentinel.conf" --sentinel
}

answers_redis() { begins_with +PONG "$1" 26379 'PING\r\n' && begins_with +PONG "$1" 6379 'PING\r\n'; } # NODE

env_redis() {
  local node places=''
  for node in "${nodes[@]}"; do places+=,$(address "$node"):26379; done
  printf 'export SECKILL_REDIS=%q\n' "redis-sentinel://${places#,}/seckill"
}
