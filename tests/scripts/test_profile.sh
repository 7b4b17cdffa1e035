#!/usr/bin/env bash
# profile.sh fills a line of both its tables for a strategy.
set -euo pipefail

said=$("$1" --seconds 1 --connections 16 conditional 2>&1) || { echo "$said" >&2; exit 1; }
lines=$(grep -cE '^conditional +[0-9-]' <<<"$said" || true)
[ "$lines" = 2 ] || { echo "no two lines of conditional: $said" >&2; exit 1; }
! grep -qE '^conditional +0 ' <<<"$said" || { echo "it sold nothing: $said" >&2; exit 1; }
