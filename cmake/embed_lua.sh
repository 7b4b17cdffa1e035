#!/bin/sh
# embed_lua.sh OUT_DIR SCRIPT.lua…: turns Redis scripts into lua_text.[ch], LUA_X for x.lua.
set -eu
out=$1
shift
mkdir -p "$out/new-lua"

awk '
  FNR == 1 { count++; name = FILENAME; sub(/.*\//, "", name); sub(/\.lua$/, "", name); names[count] = name }
  { gsub(/\\/, "&&"); gsub(/"/, "\\\""); text[count] = text[count] "\n    \"" $0 "\\n\"" }
  END {
    header = OUT "/lua_text.h"; code = OUT "/lua_text.c"
    print "/* Generated from lua/. */\n#ifndef SECKILL_GEN_LUA_TEXT_H\n#define SECKILL_GEN_LUA_TEXT_H\n" > header
    print "enum lua {" > header
    for (i = 1; i <= count; i++) print "    LUA_" toupper(names[i]) "," > header
    print "    LUA_COUNT\n};\n\nextern const char *const lua_names[LUA_COUNT];" > header
    print "extern const char *const lua_texts[LUA_COUNT];\n\n#endif" > header
    print "/* Generated from lua/. */\n#include \"lua_text.h\"\n\nconst char *const lua_names[LUA_COUNT] = {" > code
    for (i = 1; i <= count; i++) print "    \"" names[i] "\"," > code
    print "};\n\nconst char *const lua_texts[LUA_COUNT] = {" > code
    for (i = 1; i <= count; i++) print "    /* " names[i] ".lua */" text[i] "," > code
    print "};" > code
  }
' OUT="$out/new-lua" "$@"
sh "$(dirname "$0")/move_changed.sh" "$out/new-lua" "$out"
