#!/usr/bin/env bash
# docker-compose.yml as docker-compose reads it (no Docker needed): it is accepted, it has the services that it says,
# and it is refused where a secret is missing. docker/haproxy.cfg as HAProxy reads it, where HAProxy is installed.
# Not covered: that the images start, for which there has to be a Docker.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
unset SECKILL_ADMIN_TOKEN SECKILL_DATABASE_PASSWORD

fail() { echo "test_compose: $*" >&2; exit 1; }

compose() { env "$@" docker-compose -f docker-compose.yml config; }

refused_without() { # VARIABLE, with the other one set
  local said
  if said=$(compose "$2=x" 2>&1); then fail "accepted without $1"; fi
  [[ $said == *"$1"* ]] || [[ $said == *"set it to"* ]] || fail "refused without $1, but for another reason: $said"
}

services=$(env SECKILL_ADMIN_TOKEN=x SECKILL_DATABASE_PASSWORD=y docker-compose -f docker-compose.yml config --services |
  sort | tr '\n' ' ')
[ "$services" = "haproxy postgres redis server-1 server-2 server-3 " ] || fail "the services are $services"
refused_without SECKILL_ADMIN_TOKEN SECKILL_DATABASE_PASSWORD
refused_without SECKILL_DATABASE_PASSWORD SECKILL_ADMIN_TOKEN
if command -v haproxy >/dev/null; then haproxy -c -f docker/haproxy.cfg || fail "HAProxy refuses docker/haproxy.cfg"; fi
echo "test_compose: all good"
