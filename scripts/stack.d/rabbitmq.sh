# Part of stack.sh: RabbitMQ.
#
# It has no unix sockets: two ports of 127.0.0.1, one for clients and one for Erlang's own distribution, which a node
# cannot do without. They are kept from start to start, so that who knew the address can come back. Erlang's port
# mapper (epmd) is never started: the node, and what RabbitMQ starts once a minute to look for one, are told its port.
readonly rabbitmq=/usr/lib/rabbitmq/bin/rabbitmq-server

has_rabbitmq() { [ -x $rabbitmq ]; }

amqp_answers() ( # PORT: greets it and gets a frame
  exec 3<>"/dev/tcp/127.0.0.1/$1"
  printf 'AMQP\0\0\11\1' >&3
  [ "$(timeout 2 head -c 1 <&3 | od -An -tx1)" = ' 01' ]
)

choose_ports() { # sets port, distribution and password; they stand in DIR/rabbitmq.access
  local file=$dir/rabbitmq.access
  port='' distribution='' password=''
  [ ! -f "$file" ] || read -r port distribution password <"$file"
  if [ -z "$port" ] || is_taken "$port"; then port=$(free_port); fi
  while [ -z "$distribution" ] || [ "$distribution" = "$port" ] || is_taken "$distribution"; do
    distribution=$(free_port)
  done
  [ -n "$password" ] || password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  (umask 077 && echo "$port $distribution $password" >"$file")
}

write_rabbitmq_files() { # PASSWORD
  local folder=$home/rabbitmq
  make_private "$folder"
  printf '%s\n' 'default_user = seckill' "default_pass = $1" 'raft.wal_max_size_bytes = 67108864' \
    'log.console.level = warning' | put "$folder/rabbitmq.conf"
  echo '[].' | put "$folder/enabled_plugins"
  : | put "$folder/env.conf"   # not the system's
}

put() { "${as_owner[@]}" tee "$1" >/dev/null; }   # FILE: what comes on stdin

start_rabbitmq() {
  local port distribution password folder=$home/rabbitmq epmd
  wait_gone rabbitmq 20 || die "processes of a killed RabbitMQ are still in $folder"
  choose_ports
  write_rabbitmq_files "$password"
  epmd="-start_epmd false -erl_epmd_port $distribution"
  launch rabbitmq env -i PATH=/usr/lib/rabbitmq/bin:/usr/bin:/bin HOME="$folder" LANG=C.UTF-8 \
    RUNNING_UNDER_SYSTEMD=true ERL_FLAGS="$epmd" RABBITMQ_CONF_ENV_FILE="$folder/env.conf" \
    RABBITMQ_CONFIG_FILE="$folder/rabbitmq.conf" RABBITMQ_ADVANCED_CONFIG_FILE="$folder/advanced.config" \
    RABBITMQ_ENABLED_PLUGINS_FILE="$folder/enabled_plugins" RABBITMQ_MNESIA_BASE="$folder/mnesia" \
    RABBITMQ_LOG_BASE="$folder/log" RABBITMQ_LOGS=- RABBITMQ_PID_FILE="$folder/pid" \
    RABBITMQ_NODENAME=seckill@localhost RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT="$port" \
    RABBITMQ_DIST_PORT="$distribution" RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+sbwt none +sbwtdcpu none \
    +sbwtdio none -sname seckill@localhost \
    -kernel inet_dist_use_interface {127,0,0,1} -kernel inet_dist_listen_min $distribution \
    inet_dist_listen_max $distribution" $rabbitmq
}

up_rabbitmq() {
  local port
  launched=
  pid_of rabbitmq >/dev/null || start_rabbitmq
  read -r port _ <"$dir/rabbitmq.access"
  wait_answer rabbitmq 120 amqp_answers "$port"
}

rabbitmqctl() { # WORDS
  local distribution words
  read -r _ distribution _ <"$dir/rabbitmq.access"
  read -ra words <<<"$1"
  "${as_owner[@]}" env -i PATH=/usr/lib/rabbitmq/bin:/usr/bin:/bin HOME="$home/rabbitmq" LANG=C.UTF-8 \
    RABBITMQ_CONF_ENV_FILE="$home/rabbitmq/env.conf" \
    RABBITMQ_CTL_ERL_ARGS="-start_epmd false -erl_epmd_port $distribution -dist_listen false" \
    rabbitmqctl -q -n seckill@localhost "${words[@]}"
}

env_rabbitmq() {
  local port password
  read -r port _ password <"$dir/rabbitmq.access"
  printf 'export %s=%q\n' SECKILL_AMQP "amqp://seckill:$password@127.0.0.1:$port/"
}
