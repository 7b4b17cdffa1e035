#!/usr/bin/env bash
# test_models.py notices a table that is wrong, on a model of three lines.
set -euo pipefail
check=$(cd "$(dirname "$0")" && pwd)/test_models.py
source "$(dirname "$0")/../lint/tree.sh"

command -v spin >/dev/null || { echo "spin is not installed"; exit 77; }

put one.pml 'byte n;
active proctype p() { n = 1;
#ifdef MORE
n = 2;
#endif
}
ltl small { [] (n <= 1) }'

table() { # row…
  put verdicts.tsv "$(printf '%s\n' model,variant,property,verdict,states "$@" | tr , '\t')"
}

good='one,,small,holds,3' bad='one,MORE,small,violated,3'
table "$good" "$bad"
passes 'a table that is right'
table "${good/holds/violated}" "$bad"
refuses 'a violation that is not found'
table "$good" "${bad/violated/holds}"
refuses 'a violation that was not expected'
table "${good/3/4}" "$bad"
refuses 'another number of states'
table "$good"
refuses 'a variant without a row'
table "$good" "$bad" 'one,LESS,small,holds,3'
refuses 'a variant that is not there'
table "$good" "$bad" 'one,,tiny,holds,3'
refuses 'a property that is not there'
table "$good" "$bad"
put two.pml 'ltl any { [] true }'
refuses 'a model without a row'
judge
