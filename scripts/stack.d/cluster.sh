# Part of stack.sh: a Redis Cluster for the locks, three primaries with a replica each.
#
# Nodes know each other by ports of 127.0.0.1, one for clients and one for their bus. They stand in DIR/cluster.access
# and are kept from start to start, as is who has which slot (nodes.conf). A primary that is gone for two seconds is
# replaced by its replica; until then the others go on (cluster-require-full-coverage no). One that comes back, by
# `start`, is a replica of the one that took its place.

has_cluster() { :; }

cluster_cli() { # NODE WORDS: by its socket
  timeout 5 redis-cli -s "$sockets/$1.sock" "${@:2}"
}

choose_cluster_ports() { # DIR/cluster.access has a line a node: its port and its bus's
  local name port bus chosen=' '
  [ ! -f "$dir/cluster.access" ] || return 0
  for name in $(members cluster); do
    while port=$(free_port) bus=$(free_port); [[ $chosen == *" $port "* || $chosen == *" $bus "* || $port = "$bus" ]]; do :; done
    chosen+="$port $bus "
    echo "$name $port $bus"
  done >"$dir/cluster.access"
}

# Slots first: a node that has met another would not let it have the same.
join_cluster() {
  local name port bus i=0 ranges=('0 5460' '5461 10922' '10923 16383') primaries=()
  while read -r name port bus; do
    if [ $i -lt 3 ]; then
      # shellcheck disable=SC2086  # two words
      cluster_cli "$name" cluster addslotsrange ${ranges[i]} >/dev/null
      cluster_cli "$name" cluster set-config-epoch $((i + 1)) >/dev/null
      primaries+=("$(cluster_cli "$name" cluster myid)")
    fi
    [ $i = 0 ] || cluster_cli cluster1 cluster meet 127.0.0.1 "$port" "$bus" >/dev/null
    i=$((i + 1))
  done <"$dir/cluster.access"
  for i in 1 2 3; do
    wait_answer "cluster$((i + 3))" 60 replicates "cluster$((i + 3))" "${primaries[i - 1]}"
  done
}

replicates() { [ "$(cluster_cli "$1" cluster replicate "$2")" = OK ]; } # NODE PRIMARY: once it knows it

# Everything is served, and each replica has its copy.
is_whole() { # NODE
  local info
  info=$(cluster_cli "$1" cluster info) && [[ $info == *cluster_state:ok* && $info == *cluster_slots_ok:16384* ]] || return 1
  info=$(cluster_cli "$1" info replication) && [[ $info == *role:master* || $info == *master_link_status:up* ]]
}

up_cluster() {
  local name port bus slots
  choose_cluster_ports
  while read -r name port bus; do
    up_redis "$name" --appendonly no --hz 10 --bind 127.0.0.1 --port "$port" --cluster-enabled yes --cluster-port "$bus" \
      --cluster-node-timeout 2000 --cluster-require-full-coverage no --cluster-allow-replica-migration no
  done <"$dir/cluster.access"
  slots=$(cluster_cli cluster1 cluster info)
  if [[ $slots == *cluster_slots_assigned:0* && $slots == *cluster_known_nodes:1[!0-9]* ]]; then join_cluster; fi
  launched=
  for name in $(members cluster); do wait_answer "$name" 60 is_whole "$name"; done
}

env_cluster() {
  local port
  read -r _ port _ <"$dir/cluster.access"
  printf 'export %s=%q\n' SECKILL_CLUSTER "redis://127.0.0.1:$port"
}
