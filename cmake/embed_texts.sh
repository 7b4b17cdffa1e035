#!/bin/sh
# embed_texts.sh KIND OUT_DIR FILE…: turns files into KIND_text.[ch]; of the kind lua LUA_X for x.lua.
set -eu
kind=$1 out=$2
shift 2
mkdir -p "$out/new-$kind"

awk '
  FNR == 1 { count++; name = FILENAME; sub(/.*\//, "", name); sub(/\.[a-z]+$/, "", name); names[count] = name }
  { gsub(/\\/, "&&"); gsub(/"/, "\\\""); text[count] = text[count] "\n    \"" $0 "\\n\"" }
  END {
    upper = toupper(KIND)
    header = OUT "/" KIND "_text.h"; code = OUT "/" KIND "_text.c"
    print "/* Generated. */\n#ifndef SECKILL_GEN_" upper "_TEXT_H\n#define SECKILL_GEN_" upper "_TEXT_H\n" > header
    print "enum " KIND " {" > header
    for (i = 1; i <= count; i++) { name = toupper(names[i]); gsub(/-/, "_", name); print "    " upper "_" name "," > header }
    print "    " upper "_COUNT\n};\n\nextern const char *const " KIND "_names[" upper "_COUNT];" > header
    print "extern const char *const " KIND "_texts[" upper "_COUNT];\n\n#endif" > header
    print "/* Generated. */\n#include \"" KIND "_text.h\"\n\nconst char *const " KIND "_names[" upper "_COUNT] = {" > code
    for (i = 1; i <= count; i++) print "    \"" names[i] "\"," > code
    print "};\n\nconst char *const " KIND "_texts[" upper "_COUNT] = {" > code
    for (i = 1; i <= count; i++) print "    /* " names[i] " */" text[i] "," > code
    print "};" > code
  }
' KIND="$kind" OUT="$out/new-$kind" "$@"
sh "$(dirname "$0")/move_changed.sh" "$out/new-$kind" "$out"
