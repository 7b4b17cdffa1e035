# Part of stack.sh and of whatever else wants a port of 127.0.0.1 that is known before a server has it.
# shellcheck shell=bash

is_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

free_port() { # below the range from which the kernel gives ports to clients
  local port
  while port=$((20000 + RANDOM % 12000)); is_taken $port; do :; done
  echo $port
}
