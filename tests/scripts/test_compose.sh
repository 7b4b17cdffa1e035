#!/usr/bin/env bash
# docker-compose.yml as COMPOSE reads it (no Docker engine needed): it is accepted, it has the services that it says in
# the profiles that it says, one of which builds the image of all, and its secrets are the files that docker/secrets.sh
# makes. Of a profile's backends the servers know with docker/all.env alone. docker/haproxy.cfg as
# HAProxy reads it, where HAProxy is installed. The Dockerfile's image, of which this much is known without an engine: it
# is built with the client libraries that scripts/ installs to build with, has those that SERVER is linked with, and runs
# as a user with a number, on a setting, with a health check. That the images start, scripts/compose-check.sh sees.
#
#   test_compose.sh SERVER COMPOSE
set -euo pipefail

server=$1 compose=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
work=$(mktemp -d)
listening=''
trap 'kill $listening 2>/dev/null || true; rm -rf "$work"' EXIT

fail() { echo "test_compose: $*" >&2; exit 1; }

config() { "$compose" -f docker-compose.yml "$@" config; }

stage() { awk -v wanted="$1" '/^FROM/ { stage++ } stage == wanted' Dockerfile; }

builds_with_the_libraries() {
  local package
  # shellcheck source=../../scripts/lib.sh
  source "$root/scripts/lib.sh"
  for package in "${build_packages[@]}" "${component_packages[@]}"; do
    case $package in
      libcmocka-dev) ;;
      lib*-dev) stage 1 | grep -qw -e "$package" || fail "the Dockerfile does not build with $package" ;;
    esac
  done
}

# A package's name here may have a t64 at its end that bookworm's has not; hiredis has its version in its name.
runs_with_the_libraries() {
  local library package
  while read -r library; do
    package=$(dpkg-query -S "*/$library" | sed -n '1s/:.*//p')
    package=${package%t64}
    if [ "$package" = libc6 ]; then continue; fi
    if [[ $package = libhiredis* ]]; then package='\^libhiredis'; fi
    stage 2 | grep -q -e "[ ']$package\>" || fail "the Dockerfile's image lacks $package, for $library"
  done < <(objdump -p "$server" | awk '$1 == "NEEDED" { print $2 }')
}

image_is_as_one_expects() {
  stage 2 | grep -qE '^USER [0-9]+:[0-9]+$' || fail "the image's user is not a number, which Kubernetes asks for"
  stage 2 | grep -q '^ENV SECKILL_LISTEN=' || fail "the image does not listen by a setting that can be replaced"
  if stage 2 | grep -q '^CMD'; then fail "the image has flags, which those of docker run would replace"; fi
  stage 2 | grep -q '^HEALTHCHECK' || fail "the image has no health check"
  stage 2 | grep -q 'LABEL org.opencontainers.image' || fail "the image has no labels"
}

# As Docker runs it, but for the process that it asks about: --listen is followed, to an address that is not the first
# one too, and a port where nothing is fails.
health_check_follows_listen() {
  local check port said flags
  check=$(sed -n 's/^ *CMD \["bash", "-c", \(".*"\)\]$/\1/p' Dockerfile | python3 -c 'import json; print(json.loads(input()))')
  SECKILL_LISTEN=127.0.0.1:1 "$server" --database 'host=127.0.0.1 port=1' --listen 127.0.0.2:0 >"$work/says" 2>"$work/log" &
  listening=$!
  until grep -q '^listening' "$work/says"; do kill -0 $listening || fail "the server does not start: $(cat "$work/log")"; sleep 0.1; done
  port=$(sed -n 's/^listening.*://p' "$work/says")
  said=$(SECKILL_LISTEN=127.0.0.1:1 bash -c "${check//cmdline/seen}" 2>&1) && fail "it is well where nothing listens: $said"
  for said in "--listen=127.0.0.2:$port" "--listen 127.0.0.2:$port"; do
    read -ra flags <<<"$said"
    printf '%s\0' seckill-server --listen 127.0.0.1:1 "${flags[@]}" >"$work/seen"
    SECKILL_LISTEN=127.0.0.1:1 bash -c "${check//\/proc\/1\/cmdline/$work/seen}" || fail "the health check does not follow $said"
  done
}

# What ends by itself is waited for by another, or `up --wait` takes its end as a failure.
up_can_wait() {
  local name
  for name in secrets first-product; do
    grep -A1 -E "^ +$name:\$" "$work/config" | grep -q service_completed_successfully || fail "nothing waits for the end of $name"
  done
}

# The build sees what .dockerignore lets through, and that is no secret and no history.
context_is_the_sources() {
  [ "$(grep -v '^#' .dockerignore | head -n 1)" = '*' ] || fail ".dockerignore does not keep everything back first"
  if grep -qE '^!(docker|\.|tests|build)' .dockerignore; then fail ".dockerignore lets through what is no source"; fi
}

# As the Dockerfile does, with what the build sees.
context_can_be_configured() {
  local sent
  mkdir "$work/context"
  while read -r sent; do cp -r --parents "$sent" "$work/context"; done < <(sed -n 's/^!//p' .dockerignore)
  (cd "$work/context" && cmake --preset release -DSECKILL_TESTS=OFF) >"$work/configured" 2>&1 ||
    fail "the image's build lacks something: $(grep -m 1 -A 5 'CMake Error' "$work/configured")"
}

services_of() { # PROFILE, or nothing: those that start by themselves
  awk -v wanted="${1:-}" '
    function end() { if (name != "" && profile == wanted) print name; name = profile = "" }
    /^[a-z]/ { end(); inside = $1 == "services:" }
    inside && /^  [a-z]/ { end(); name = $1; sub(":", "", name) }
    inside && /^    [a-z]/ { list = $1 == "profiles:" }
    inside && list && /^    +- / { profile = $2 }
    END { end() }' "$work/config" | sort | tr '\n' ' '
}

services_are() { # PROFILE SERVICES
  [ "$(services_of "$1")" = "$2 " ] || fail "the services ${1:+of $1 }are $(services_of "$1")"
}

one_service_builds() {
  local built
  built=$(grep -cE '^ {4}build:' "$work/config" || true)
  [ "$built" = 1 ] || fail "$built services build the image"
  [ "$(grep -cE '^ {4}image: seckill-server$' "$work/config")" = 8 ] || fail "not all of its users have the servers' image"
}

# Every setting of a server is one; a secret is a file, which docker/secrets.sh makes, for all to read in a folder that
# is its owner's alone, and keeps. A container sees the folder of its kind.
secrets_are_files() {
  local variable file
  if grep -iE '(PASSWORD|TOKEN|DATABASE|AMQP|_PASS): ' "$work/config"; then fail "a secret stands in the environment"; fi
  "$server" --help=markdown >"$work/settings"
  while read -r variable; do
    grep -q "\`${variable%_FILE}\`" "$work/settings" || fail "$variable is no setting"
  done < <(grep -ohE 'SECKILL_[A-Z_]+' "$work/config" docker/all.env | sort -u)
  mkdir "$work/docker"
  cp docker/secrets.sh "$work/docker"
  "$work/docker/secrets.sh"
  (cd "$work" && sha256sum docker/secrets/*/* >sums && docker/secrets.sh && sha256sum --quiet -c sums) || fail "docker/secrets.sh makes other secrets"
  [ "$(stat -c %a "$work/docker/secrets")" = 700 ] || fail "others can enter docker/secrets"
  while read -r file; do
    [ "$(stat -c %a "$work/docker/secrets"/*/"$file")" = 444 ] || fail "docker/secrets.sh does not make $file, or not for all to read"
  done < <(grep -oE '/run/secrets/[a-z_]+' "$work/config" docker/all.env | sed 's|.*/||' | sort -u)
  while read -r file; do
    [ "$(stat -c %a "$work/docker/secrets/$file")" = 755 ] || fail "docker/secrets.sh does not make the folder $file, or not for all to read"
  done < <(grep -oE 'docker/secrets/[a-z]+' "$work/config" | sed 's|.*/||' | sort -u)
  grep -q "password=$(cat "$work/docker/secrets/postgres/password")$" "$work/docker/secrets/server/database" || fail "the two passwords differ"
  [ "$(cat docker/secrets/.gitignore)" = $'*\n!.gitignore' ] || fail "git takes the secrets"
}

# Unset otherwise: an empty setting counts as one.
servers_know_what_runs() {
  local variable
  config --env-file docker/all.env >"$work/all"
  while IFS='=' read -r variable _; do
    if grep -qE "^ +$variable: [^n]" "$work/config"; then fail "$variable is set without its profile"; fi
    grep -qE "^ +$variable: [a-z/]" "$work/all" || fail "docker/all.env does not set $variable"
  done < <(grep '^SECKILL_' docker/all.env)
}

texts_name_the_plugin() {
  if grep -nE 'docker-compose [a-z-]' README.md README.zh.md CONTRIBUTING.md docker-compose.yml docs/*.md; then
    fail "these say docker-compose, where users have docker compose"
  fi
}

config --profile monitoring --profile all --profile cells >"$work/config"
services_are '' "first-product haproxy postgres redis secrets server-1 server-2 server-3"
services_are monitoring "grafana prometheus"
services_are cells "cells postgres-1 postgres-2 redis-1 redis-2 shop-1a shop-1b shop-2a shop-2b"
services_are all "memcached rabbitmq redlock-1 redlock-2 redlock-3 stock-redis zookeeper"
up_can_wait
one_service_builds
servers_know_what_runs
secrets_are_files
image_is_as_one_expects
health_check_follows_listen
context_is_the_sources
context_can_be_configured
texts_name_the_plugin
if command -v haproxy >/dev/null; then haproxy -c -f docker/haproxy.cfg || fail "HAProxy refuses docker/haproxy.cfg"; fi
builds_with_the_libraries
# What a server needs that was built here says nothing of another release.
release=$(sed -n 's/^ARG DEBIAN=//p' Dockerfile)
if grep -qx "VERSION_CODENAME=$release" /etc/os-release; then runs_with_the_libraries; fi
echo "test_compose: all good"
