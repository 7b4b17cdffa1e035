#!/usr/bin/env bash
# Proves that check_prose.py goes red at one finding more than may stand, for each kind that it looks for.
set -euo pipefail

lint=$(cd "$(dirname "$0")" && pwd)
check=$lint/check_prose.py
# shellcheck source-path=SCRIPTDIR source=../tree.sh
. "$lint/../tree.sh"
most=$(sed -n 's/^MOST = //p' "$check")

refuses "a tree without sources"
put server/good.c '/* A worker that waits is woken. It asks who waits. What a buyer is told stays; so what is told is true. */
int who_waits; // What is here is no comment of ours
const char *what = "What is in a text is none";'
passes "a tree in order"
put server/most.c "$(for ((i = 0; i < most; i++)); do echo '/* Who waits is woken. */'; done)"
passes "a tree with as many as may be"

catches server/bad.c '/* Who waits is woken. */'
catches server/deep/bad.h '/*
 * A worker waits. Whoever
 * has the lock wakes it.
 */'
catches loadtest/bad.c '/* It is over: What was sold stays. */'
catches bench/bad.h '/* Of what was sold nothing is lost. */'
catches tests/bad.c 'int a; /* for whoever reads it */'
catches tests/unit/bad.c '/* A lock is held by who took it. */'

put server/bad.c 'int a;
/*
 * A worker waits.
 *
 * It sleeps. Who
 * waits is woken.
 */'
refuses "two lines"
[[ $("$check" "$tree" 2>&1) == *"server/bad.c:5: Who waits is woken."* ]] || miss "the wrong line"
judge
