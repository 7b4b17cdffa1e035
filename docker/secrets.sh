#!/bin/sh
# Makes the secrets of docker-compose.yml: files in docker/secrets, with random passwords. What is there already is
# kept, so it can be run again; throw the database's volume away when you throw its password away.
#
# Nobody but you can enter the folder. The files in it can be read by all, because the server's user in its container
# is another than yours.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets

random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

keep() { # NAME TEXT
  rmdir "secrets/$1" 2>/dev/null || true   # docker makes a folder for a file that is missing
  [ -s "secrets/$1" ] || printf '%s\n' "$2" >"secrets/$1"
  chmod 444 "secrets/$1"
}

keep admin_token "$(random)"
keep postgres_password "$(random)"
keep database "host=postgres dbname=seckill user=seckill password=$(cat secrets/postgres_password)"
