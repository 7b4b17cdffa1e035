# Part of stack.sh: the Redis of locks, that of redis-stock, and the three of Redlock; all of them Valkey in a stack that
# was begun --with valkey.

has_valkey() { command -v valkey-server >/dev/null; }
up_valkey() { :; }   # those that have it as their program
redis_program() { if [ -f "$dir/valkey" ]; then echo valkey-server; else echo redis-server; fi; }

redis_answers() { [ "$(timeout 2 redis-cli -s "$1" ping 2>/dev/null)" = PONG ]; }

up_redis() { # SERVER SETTING...
  local name=$1 program
  shift
  program=$(redis_program)
  command -v "$program" >/dev/null || die "there is no $program: apt-get install $program"
  launched=
  if ! pid_of "$name" >/dev/null; then
    wait_gone "$name" 20 || die "processes of a killed Redis are still in $home/$name"
    make_private "$home/$name"
    # hz: what Redis does now and then, ten times a second, is 0.2 % of a core, and many stacks stand idle beside each other;
    # but a BLPOP ends with the next time.
    launch "$name" "$(command -v "$program")" --hz 4 --port 0 --unixsocket "$sockets/$name.sock" --unixsocketperm 700 \
      --dir "$home/$name" --daemonize no --save '' --maxmemory-policy noeviction "$@"
  fi
  wait_answer "$name" 60 redis_answers "$sockets/$name.sock"
}

up_locks() { up_redis locks --appendonly no; }
up_stock() { up_redis stock --appendonly yes --appendfsync always; }

# Each of the three is alone: no replica, no memory of the others, nothing on disk. Nobody waits in one.
has_redlock() { :; }
up_redlock() { local name; for name in $(members redlock); do up_redis "$name" --appendonly no --hz 1; done; }
env_redlock() {
  printf 'export %s=%q\n' SECKILL_REDLOCK \
    "unix://$sockets/redlock1.sock,unix://$sockets/redlock2.sock,unix://$sockets/redlock3.sock"
}
