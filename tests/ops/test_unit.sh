#!/usr/bin/env bash
# The systemd UNIT as ANALYZE (systemd-analyze) reads it: it is accepted, nearly nothing that a service can do without is
# allowed to it, and every setting in it is one of SERVER's.
#
#   test_unit.sh UNIT ANALYZE SERVER
set -euo pipefail

unit=$1 analyze=$2 server=$3
most=1.5   # of 10; what is left is the network, which it serves
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "test_unit: $*" >&2; exit 1; }

# The program is not where it will be.
sed "s|^ExecStart=.*|ExecStart=$server|" "$unit" >"$work/seckill-server.service"
"$analyze" verify --man=no "$work/seckill-server.service" >"$work/said" 2>&1 || fail "not accepted: $(cat "$work/said")"
if grep -F seckill-server.service "$work/said"; then fail "systemd has something to say of it"; fi
"$analyze" security --offline=yes --no-pager "$work/seckill-server.service" >"$work/security" || fail "no verdict"
exposure=$(sed -n 's/.*Overall exposure level.*: \([0-9.]*\) .*/\1/p' "$work/security")
awk -v is="$exposure" -v most=$most 'BEGIN { exit !(is != "" && is <= most) }' ||
  fail "exposure is $exposure, of $most at the most: $(grep -v '^✓' "$work/security")"
"$server" --help=markdown >"$work/settings"
while read -r variable; do
  grep -q "\`${variable%_FILE}\`" "$work/settings" || fail "$variable is no setting"
done < <(grep -oE 'SECKILL_[A-Z_]+' "$unit" | sort -u)
echo "test_unit: exposure $exposure, all good"
