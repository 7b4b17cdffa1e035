#!/bin/sh
# Makes the secrets of docker-compose.yml, with random passwords: a folder in docker/secrets for each kind of container,
# which sees no other. `docker compose up` runs it in a container, before all others. What is there already is kept, so
# it can be run again; throw the database's volume away when you throw its password away.
#
# Nobody but you, and root, can enter docker/secrets. The files in it can be read by all, because a container's user is
# another than yours.
set -eu
umask 022
cd "$(dirname "$0")"
mkdir -p secrets
chmod 700 secrets

random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

keep() { # FOLDER/NAME TEXT
  mkdir -p "secrets/${1%/*}"
  [ -s "secrets/$1" ] || printf '%b\n' "$2" >"secrets/$1"
  chmod 444 "secrets/$1"
}

keep server/admin_token "$(random)"
keep postgres/password "$(random)"
keep server/database "host=postgres dbname=seckill user=seckill password=$(cat secrets/postgres/password)"
keep rabbitmq/20-user.conf "default_user = seckill\ndefault_pass = $(random)\nlog.console = true"
keep server/amqp "amqp://seckill:$(sed -n 's/^default_pass = //p' secrets/rabbitmq/20-user.conf)@rabbitmq:5672/"
keep grafana/admin_password "$(random)"
