#!/bin/sh
# embed_sql.sh SQL_DIR OUT_DIR: turns schema.sql and statements.sql into sql_text.[ch].
#
# A statement SQL_X for each "-- name: x" (comments are dropped); an entry of sql_schema[] for each
# "-- version: N", which must count up from 1. In parentheses, because clang takes a text of several
# lines in a list for a comma that was forgotten.
#
# The tables that schema.sql makes stand in a schema whose name the server knows at run time. So in
# the statements each of them, behind FROM, JOIN, INTO, UPDATE or NULL::, gets "{schema}." in front, and
# sql_rights[] says which rights the statements need on it. In schema.sql names stay as they are.
set -eu
sql=$1 out=$2
mkdir -p "$out/new-sql"

awk '
  function fail(text) { print FILENAME ":" FNR ": " text > "/dev/stderr"; failed = 1; exit 1 }
  function add_table(name) { if (!(name in position)) { table[++tables] = name; position[name] = tables } }
  function need(name, right) { rights[name, right] = 1 }
  # What FOR UPDATE or FOR SHARE locks: the tables that it names, or all that the statement reads.
  function end_statement(  i, name) {
    if (locks == "some")
      for (name in locked) need(name, "UPDATE")
    else if (locks)
      for (name in reads) need(name, "UPDATE")
    split("", reads); split("", locked); locks = ""
  }
  function note_locks(line,  name) {
    if (!match(line, /FOR (NO KEY )?(UPDATE|SHARE|KEY SHARE)/)) return
    name = substr(line, RSTART + RLENGTH)
    if (name !~ /^ OF /) { locks = "all"; return }
    sub(/^ OF /, "", name); sub(/[^a-z_].*/, "", name)
    locked[name] = 1
    if (!locks) locks = "some"
  }
  function qualify(line,  done, word, name, before) {
    note_locks(line)
    while (match(line, /(FROM |JOIN |INTO |UPDATE |NULL::)[a-z_]+/)) {
      before = substr(line, 1, RSTART - 1)
      word = name = substr(line, RSTART, RLENGTH)
      sub(/^[A-Z]+[ :]+/, "", name)
      word = substr(word, 1, length(word) - length(name))
      line = substr(line, RSTART + RLENGTH)
      if (name in position) {
        need(name, "SELECT")
        if (word == "INTO ") { need(name, "INSERT"); into = name }
        else if (word == "UPDATE ") need(name, "UPDATE")
        else if (before ~ /DELETE $/) need(name, "DELETE")
        reads[name] = 1
        name = "{schema}." name
      }
      done = done before word name
    }
    if (line ~ /DO UPDATE/) need(into, "UPDATE")
    if (line ~ /regclass/) fail("a table is named by NULL::table, whose type it is")
    if (line ~ /(FROM|JOIN|INTO)$/) fail("the name of a table belongs on the same line")
    return done line
  }
  BEGIN { add_table("seckill_schema") }
  FNR == 1 { kind = FILENAME ~ /schema[.]sql$/ ? "version" : "name" }
  $1 == "--" && $2 == kind ":" {
    end_statement()
    n[kind]++
    label[kind, n[kind]] = $3
    if (kind == "version" && $3 != n[kind]) fail("version " $3 " out of order")
    if (kind == "name" && seen[$3]++) fail("two statements named " $3)
    next
  }
  /^[ \t]*--/ || /^[ \t]*$/ { next }
  {
    if (!n[kind]) fail("text before the first -- " kind)
    if (kind == "version" && $1 == "CREATE" && $2 == "TABLE") add_table($3)
    line = kind == "name" ? qualify($0) : $0
    gsub(/\\/, "&&", line); gsub(/"/, "\\\"", line)
    text[kind, n[kind]] = text[kind, n[kind]] "\n    \"" line "\\n\""
  }
  END {
    if (failed) exit 1
    end_statement()
    header = OUT "/sql_text.h"; code = OUT "/sql_text.c"
    print "/* Generated from sql/. */\n#ifndef SECKILL_GEN_SQL_TEXT_H\n#define SECKILL_GEN_SQL_TEXT_H\n" > header
    print "enum sql {" > header
    for (i = 1; i <= n["name"]; i++) print "    SQL_" toupper(label["name", i]) "," > header
    print "    SQL_COUNT\n};\n" > header
    print "extern const char *const sql_names[SQL_COUNT];\nextern const char *const sql_texts[SQL_COUNT];" > header
    print "enum { SQL_SCHEMA_VERSION = " n["version"] ", SQL_TABLES = " tables " };" > header
    print "extern const char *const sql_schema[SQL_SCHEMA_VERSION];" > header
    print "/* The tables, and the rights that the statements need on each. */" > header
    print "extern const char *const sql_tables[SQL_TABLES];\nextern const char *const sql_rights[SQL_TABLES];\n\n#endif" > header
    print "/* Generated from sql/. */\n#include \"sql_text.h\"\n" > code
    print "const char *const sql_names[SQL_COUNT] = {" > code
    for (i = 1; i <= n["name"]; i++) print "    \"" label["name", i] "\"," > code
    print "};\n\nconst char *const sql_texts[SQL_COUNT] = {" > code
    for (i = 1; i <= n["name"]; i++) print "    /* " label["name", i] " */ (" text["name", i] ")," > code
    print "};\n\nconst char *const sql_schema[SQL_SCHEMA_VERSION] = {" > code
    for (i = 1; i <= n["version"]; i++) print "    (" text["version", i] ")," > code
    print "};\n\nconst char *const sql_tables[SQL_TABLES] = {" > code
    for (i = 1; i <= tables; i++) print "    \"" table[i] "\"," > code
    print "};\n\nconst char *const sql_rights[SQL_TABLES] = {" > code
    rank = split("SELECT INSERT UPDATE DELETE", right, " ")
    for (i = 1; i <= tables; i++) {
      all = ""
      for (j = 1; j <= rank; j++) if ((table[i], right[j]) in rights) all = all (all ? "," : "") right[j]
      print "    \"" all "\"," > code
    }
    print "};" > code
  }
' OUT="$out/new-sql" "$sql/schema.sql" "$sql/statements.sql"
sh "$(dirname "$0")/move_changed.sh" "$out/new-sql" "$out"
