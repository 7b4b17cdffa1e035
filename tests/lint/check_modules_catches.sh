#!/usr/bin/env bash
# Proves that check_modules.py goes red: for a function of two programs, for files that include or call each other,
# whatever the way, for a call upward, and for a function without a caller.
set -euo pipefail

lint=$(cd "$(dirname "$0")" && pwd)
check=$lint/check_modules.py
# shellcheck source-path=SCRIPTDIR source=tree.sh
. "$lint/tree.sh"

refuses "a tree without sources"

put server/base/clock.h '#include <stdint.h>'
put server/base/clock.c $'#include "base/clock.h"\n\nint64_t clock_now(void)\n{\n    return 0;\n}'
put server/http/edge.c $'#include "base/clock.h"\n\nstatic int take(int a,\n                int b)\n{\n    return a + b;\n}'
put loadtest/load/wrk.h '#include "base/clock.h"'
put loadtest/load/wrk.c $'#include "loadtest/load/wrk.h"\n\nstatic int take(void)\n{\n    return clock_now();\n}'
put bench/bed.h '#include "loadtest/load/wrk.h"'
put bench/take/idle.c $'#include "bench/bed.h"\n\nint clock_now(void);\nint main(void)\n{\n    return 0;\n}'
put server/main.c $'int main(void)\n{\n    return 0;\n}'
passes "a tree in order"

# A function of another program, also where its head has several lines; statics, declarations and main are nobody's.
catches loadtest/load/bad.c $'int64_t clock_now(void)\n{\n    return 1;\n}'
catches bench/bad.c $'struct a *clock_now(struct b *b,\n                    struct c *c)\n{\n    return b;\n}'
catches bench/bad.c $'__attribute__((noinline)) int clock_now(void)\n{\n    return 1;\n}'

# Circles: of two headers, through an implementation, and around three corners.
put server/base/other.h '#include "base/clock.h"'
put server/base/clock.c '#include "base/other.h"'
refuses "a header and the implementation below it"
put server/base/clock.c '#include "base/clock.h"'
put loadtest/load/a.h '#include "loadtest/load/b.h"'
put loadtest/load/b.c '#include "loadtest/load/c.h"'
put loadtest/load/b.h '#include <stdint.h>'
put loadtest/load/c.h '#include "loadtest/load/wrk.h"'
passes "a chain"
put loadtest/load/wrk.c '#include "loadtest/load/a.h"'
refuses "three that include each other"
[[ $("$check" "$tree" 2>&1) == *"loadtest/load/a loadtest/load/b loadtest/load/c loadtest/load/wrk"* ]] ||
  miss "caught without saying where"

put loadtest/load/wrk.c '#include "loadtest/load/wrk.h"'
passes "a chain, again"

# What the files of a module share among themselves is the module.
put server/postgres/pg.h '#include "base/clock.h"'
put server/postgres/pg_internal.h '#include "postgres/pg.h"'
put server/postgres/pg.c '#include "postgres/pg_internal.h"'
put server/postgres/connect.h '#include <stdint.h>'
put server/postgres/connect.c '#include "postgres/pg_internal.h"'
passes "a module in two headers"
put server/postgres/pg_internal.h $'#include "postgres/connect.h"\n#include "postgres/pg.h"'
refuses "an inner header and what is above it"

# Calls: the sources are compiled, and no header says what they call. The program's main calls the first.
calls() { # FUNCTION, and file and text of each
  rm -rf "$tree" && mkdir -p "$tree/build"
  set -- server/main.c "int $1(void); int main(void) { return $1(); }" "${@:2}"
  while [ $# -gt 0 ]; do
    put "$1" "$2"
    mkdir -p "$(dirname "$tree/build/$1")"
    cc -c -o "$tree/build/$1.o" "$tree/$1"
    printf '%s{"directory": "%s", "file": "%s", "command": "cc -c -o build/%s.o"}' \
      "${listed:+,}" "$tree" "$tree/$1" "$1" >>"$tree/build/list"
    listed=1
    shift 2
  done
  listed=
  { echo '['; cat "$tree/build/list"; echo ']'; } >"$tree/build/compile_commands.json"
}

both=$check
check=called
called() { "$both" "$1" "$1/build"; }
calls c server/sale/a.c 'int b(void); int a(void) { return b(); }' server/sale/b.c 'int b(void) { return 0; }' \
  server/drive/c.c 'int a(void); int c(void) { return a(); }'
passes "calls downward"
calls a server/sale/a.c 'int b(void); int a(void) { return b(); }' server/sale/b.c 'int c(void); int b(void) { return c(); }' \
  server/sale/c.c 'int a(void); int c(void) { return a(); }'
refuses "three that call each other"
calls a server/sale/a.c 'int b(void); int a(void) { return b(); }' server/sale/b.c 'static int a(void) { return 0; } int b(void) { return a(); }'
passes "a namesake of a file's own"
calls a server/sale/a.c 'int b(void); int a(void) { return b(); }' server/drive/b.c 'int b(void) { return 0; }'
refuses "a call upward"
calls a server/sale/a.c 'extern const int b; int a(void) { return b; }' server/strategies/b.c 'const int b = 1;'
refuses "a look upward"
calls a server/sale/a.c 'int a(void) { return 0; }' server/sale/b.c 'int b(void) { return 0; }'
refuses "a function that nobody calls"
calls a server/sale/a.c 'int b(void) { return 0; } int a(void) { return b(); }'
passes "a function that its own file calls"
calls metrics_shards server/sale/a.c 'int metrics_shards(void) { return 0; }'
refuses "a function that is said to be the tests' alone"
judge
