#!/usr/bin/env bash
# docker-compose.yml as docker-compose reads it (no Docker needed): it is accepted, it has the services that it says,
# and it is refused where a secret is missing. docker/haproxy.cfg as HAProxy reads it, where HAProxy is installed.
# The Dockerfile's image, of which this much is known without a Docker: it is built with the client libraries that
# scripts/ installs to build with, and has those that SERVER is linked with. Not covered: that the images start.
#
#   test_compose.sh SERVER
set -euo pipefail

server=$1
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

services=$(env SECKILL_ADMIN_TOKEN=x SECKILL_DATABASE_PASSWORD=y docker-compose -f docker-compose.yml config --services |
  sort | tr '\n' ' ')
[ "$services" = "haproxy postgres redis server-1 server-2 server-3 " ] || fail "the services are $services"
refused_without SECKILL_ADMIN_TOKEN SECKILL_DATABASE_PASSWORD
refused_without SECKILL_DATABASE_PASSWORD SECKILL_ADMIN_TOKEN
if command -v haproxy >/dev/null; then haproxy -c -f docker/haproxy.cfg || fail "HAProxy refuses docker/haproxy.cfg"; fi
builds_with_the_libraries
runs_with_the_libraries
echo "test_compose: all good"
