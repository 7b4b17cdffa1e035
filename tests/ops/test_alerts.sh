#!/usr/bin/env bash
# The alert rules as PROMTOOL reads them, and what they say of synthetic series: ops/prometheus/alerts_test.yml, which
# has every alert fire. Every alert stands in docs/OPERATIONS.md.
#
#   test_alerts.sh PROMTOOL
set -euo pipefail

promtool=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() { echo "test_alerts: $*" >&2; exit 1; }

"$promtool" check config ops/prometheus/prometheus.yml
"$promtool" check rules ops/prometheus/alerts.yml
(cd ops/prometheus && "$promtool" test rules alerts_test.yml)
alerts=0
while read -r alert; do
  alerts=$((alerts + 1))
  grep -q "labels: 'ALERTS{alertname=\"$alert\",alertstate=\"firing\"" ops/prometheus/alerts_test.yml || fail "no test has $alert fire"
  grep -q "^| \`$alert\` |" docs/OPERATIONS.md || fail "docs/OPERATIONS.md does not say what to do about $alert"
done < <(sed -n 's/^ *- alert: //p' ops/prometheus/alerts.yml)
[ "$alerts" -gt 0 ] || fail "there are no alerts"
echo "test_alerts: $alerts alerts, all good"
