#!/usr/bin/env bash
# test_pages.sh BUILD: what `cmake --install` puts where man and the shells look for it, whether they can read it, what
# bash completes, and that no text links to what is not there. Readers that are not installed here are left out.
set -euo pipefail

build=$1
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
failed=0
complain() { echo "$*"; failed=1; }

DESTDIR=$there cmake --install "$build" >"$there/log" || { cat "$there/log"; exit 1; }
share=$(cd "$there" && find . -type d -name man8 | sed 's|/man/man8$||')
share=$there/$share
for page in man/man8/seckill-server.8.gz man/man1/seckill-loadtest.1.gz; do
  [ -s "$share/$page" ] || complain "no $page"
done
for program in seckill-server seckill-loadtest; do
  for file in "bash-completion/completions/$program" "zsh/vendor-completions/_$program" \
    "fish/vendor_completions.d/$program.fish"; do
    [ -s "$share/$file" ] || complain "no $file"
  done
done

for page in "$share"/man/man*/seckill-*; do
  if command -v man >/dev/null; then
    said=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
    [ -z "$said" ] || complain "man: $said"
  fi
  if command -v mandoc >/dev/null; then
    said=$(mandoc -T lint -W warning "$page" 2>&1) || true
    [ -z "$said" ] || complain "mandoc: $said"
  fi
done
for file in "$share"/zsh/*/_seckill-*; do
  ! command -v zsh >/dev/null || zsh -n "$file" || complain "zsh: $file"
done
for file in "$share"/fish/*/seckill-*; do
  ! command -v fish >/dev/null || fish -n "$file" || complain "fish: $file"
done

# completes EXPECTED WORD…: what bash offers for the last word, in one line.
completes() {
  local expected=$1 offered
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  "_${1//-/_}" || true # nothing fits
  offered="${COMPREPLY[*]}"
  [ "$offered" = "$expected" ] || complain "'$*' gives '$offered', not '$expected'"
}

cd "$there" # where no file's name fits
for file in "$share"/bash-completion/completions/*; do
  # shellcheck disable=SC1090  # made by the build
  source "$file"
done
PATH=$build/server:$build/loadtest:$PATH
completes 'run' seckill-loadtest ru
completes '--version --help' seckill-loadtest --
completes '--scenario' seckill-loadtest run --sce
completes '--over --out' seckill-loadtest sweep --o
completes 'spread' seckill-loadtest run --scenario sp
completes 'json' seckill-loadtest run --format = j
completes 'conditional' seckill-loadtest run --strategies cond
completes 'none,conditional' seckill-loadtest run --strategies none,cond
completes 'redis-token' seckill-loadtest zoo redis-t
completes 'redlock' seckill-loadtest zoo none redl
completes '' seckill-loadtest zoo seckill
completes 'calm stall forget freeze kill database commit reply hold reset' seckill-loadtest faults --faults ''
completes 'stall,freeze' seckill-loadtest faults --faults stall,fr
completes '' seckill-loadtest faults --expect ''
completes '--stock-redis' seckill-loadtest zoo --st
completes 'optimistic' seckill-server --default-strategy opti
completes 'auto never' seckill-server --migrate =
completes '--lock-wait-ms --lock-ttl-ms' seckill-server --lock
dead=$(find "$share/doc" -name '*.md' | while read -r text; do
  grep -oE '\]\([^):#[:space:]]+[#)]' "$text" | sed 's/^](//; s/.$//' | while read -r to; do
    [ -e "$(dirname "$text")/$to" ] || echo "${text#"$share"}: $to"
  done
done)
[ -z "$dead" ] || complain "dead links: $dead"
exit "$failed"
