#!/bin/sh
# embed_sql.sh SQL_DIR OUT_DIR: turns schema.sql and statements.sql into sql_text.[ch].
#
# A statement SQL_X for each "-- name: x" (comments are dropped); an entry of sql_schema[] for each
# "-- version: N", which must count up from 1. In parentheses, because clang takes a text of several
# lines in a list for a comma that was forgotten.
set -eu
sql=$1 out=$2
mkdir -p "$out/new-sql"

awk '
  function fail(text) { print FILENAME ": " text > "/dev/stderr"; failed = 1; exit 1 }
  FNR == 1 { kind = FILENAME ~ /schema/ ? "version" : "name" }
  $1 == "--" && $2 == kind ":" {
    n[kind]++
    label[kind, n[kind]] = $3
    if (kind == "version" && $3 != n[kind]) fail("version " $3 " out of order")
    if (kind == "name" && seen[$3]++) fail("two statements named " $3)
    next
  }
  /^[ \t]*--/ || /^[ \t]*$/ { next }
  {
    if (!n[kind]) fail("text before the first -- " kind)
    gsub(/\\/, "&&"); gsub(/"/, "\\\"")
    text[kind, n[kind]] = text[kind, n[kind]] "\n    \"" $0 "\\n\""
  }
  END {
    if (failed) exit 1
    header = OUT "/sql_text.h"; code = OUT "/sql_text.c"
    print "/* Generated from sql/. */\n#ifndef SECKILL_GEN_SQL_TEXT_H\n#define SECKILL_GEN_SQL_TEXT_H\n" > header
    print "enum sql {" > header
    for (i = 1; i <= n["name"]; i++) print "    SQL_" toupper(label["name", i]) "," > header
    print "    SQL_COUNT\n};\n" > header
    print "extern const char *const sql_names[SQL_COUNT];\nextern const char *const sql_texts[SQL_COUNT];" > header
    print "enum { SQL_SCHEMA_VERSION = " n["version"] " };" > header
    print "extern const char *const sql_schema[SQL_SCHEMA_VERSION];\n\n#endif" > header
    print "/* Generated from sql/. */\n#include \"sql_text.h\"\n" > code
    print "const char *const sql_names[SQL_COUNT] = {" > code
    for (i = 1; i <= n["name"]; i++) print "    \"" label["name", i] "\"," > code
    print "};\n\nconst char *const sql_texts[SQL_COUNT] = {" > code
    for (i = 1; i <= n["name"]; i++) print "    /* " label["name", i] " */ (" text["name", i] ")," > code
    print "};\n\nconst char *const sql_schema[SQL_SCHEMA_VERSION] = {" > code
    for (i = 1; i <= n["version"]; i++) print "    (" text["version", i] ")," > code
    print "};" > code
  }
' OUT="$out/new-sql" "$sql/schema.sql" "$sql/statements.sql"
sh "$(dirname "$0")/move_changed.sh" "$out/new-sql" "$out"
