#!/usr/bin/env python3
"""check_docs.py [ROOT]: what the texts name is there.

Links between the .md files, and their headings; scripts, tests and flags that a text names; files that a comment names;
the rooms of docs/ARCHITECTURE.md and the folders; the ends of its walk from main to the SQL.
"""
import os
import re
import sys

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..", "..")
ARCHITECTURE = "docs/ARCHITECTURE.md"
SKIPPED = {".git", ".stack", "build", ".ccache", "node_modules"}
NAMED = re.compile(r"(?<![\w/.{}$*<>-])[\w./-]*[\w]\.(?:[ch]|sql|lua|sh|md|def|py|ya?ml)(?![\w./*(-]|\.\w)")
# Files of libraries, generated ones, and names that stand for any.
ELSEWHERE = re.compile(r"^((microhttpd|hiredis|memcached|sql_text|lua_text|openapi_yaml|live_page|zoo_json|x)\.[ch]|SCRIPT\.lua|.*\b(room|bench)/file\.h)$")
SCRIPT = re.compile(r"\./((?:scripts|tests)/[\w/-]+\.(?:sh|py))")
TEST = re.compile(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+){3,})`")  # four words and more: a test, as a rule
OUR_COMMAND = re.compile(r"(?:^|[\s`(])(?:seckill-(?:server|loadtest|bench)|\./scripts/\w+\.sh)\b([^`|;#\n]*)")
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])")
SOURCES = (".c", ".h", ".def", ".lua", ".sql", ".sh", ".py")

broken = []


def refuse(file, what):
    broken.append(f"{file}: {what}")


def files_below(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)


def read(file):
    with open(os.path.join(ROOT, file), encoding="utf-8") as text:
        return text.read()


def anchor(heading):
    plain = re.sub(r"[`*]", "", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def check_links(file):
    for path, heading in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", read(file)):
        if re.match(r"[a-z]+:", path):
            continue
        to = os.path.normpath(os.path.join(os.path.dirname(file), path)) if path else file
        if not os.path.exists(os.path.join(ROOT, to)):
            refuse(file, f"links to {path}, which is not there")
        elif heading and to.endswith(".md"):
            if heading[1:] not in map(anchor, re.findall(r"^#+ (.*)$", read(to), re.M)):
                refuse(file, f"links to {to}{heading}, and there is no such heading")


def names_in_sources(files):
    """Every identifier, and every flag: a row of a table of options in C, --name in C and in a script."""
    words, flags = set(), set()
    for file in files:
        if not file.endswith(SOURCES):
            continue
        text = read(file)
        words.update(re.findall(r"[a-z][a-z0-9_]+", text))
        if not re.match(r"tests/.*/", file):  # a test may try a flag that is none
            code = file.endswith((".sh", ".py"))
            flags.update(FLAG.findall(text) if code
                         else re.findall(r'(?:(?:OPTION_ROW|WORDS|NUMBER)\(\s*"|\.flag = "|"--)([a-z-]+)', text))
    return words, flags


def check_names(file, words, flags):
    text = read(file)
    for script in SCRIPT.findall(text):
        if not os.path.exists(os.path.join(ROOT, script)):
            refuse(file, f"names {script}, which is not there")
    for test in TEST.findall(text):
        if test not in words:
            refuse(file, f"names {test}, which is nowhere in the sources")
    ours = re.findall(r"`(--[^`]*)`", text) + OUR_COMMAND.findall(text)
    for flag in sorted(set(FLAG.findall("\n".join(ours))) - flags - {"name"}):  # --name stands for any
        refuse(file, f"names --{flag}, which no program or script of ours takes")


def comments_of(file):
    text = read(file)
    if file.endswith((".c", ".h")):
        return re.findall(r"/\*.*?\*/", text, re.S)
    if file.endswith((".sql", ".lua")):
        return re.findall(r"--.*", text)
    return re.findall(r"^\s*#(?!!|include).*", text, re.M)


def check_comments(file, ends):
    for comment in comments_of(file):
        for name in NAMED.findall(comment):
            if not ELSEWHERE.match(name) and not name.startswith("/") and ("/" + name.lstrip("./")) not in ends:
                refuse(file, f"a comment names {name}, which is not there")


def check_rooms(files):
    text = read(ARCHITECTURE)
    rows = set()
    for first in re.findall(r"^\| (`[^|]*`) \|", text, re.M):
        rows.update(re.findall(r"`([^`]+)`", first))
    folders = {"/".join(file.split("/")[:2]) for file in files if re.match(r"(server|loadtest)/[^/]+/.*\.[ch]$", file)}
    for folder in sorted(folders - rows):
        refuse(ARCHITECTURE, f"{folder} has no row in the table of rooms")
    for row in sorted(rows):
        if re.match(r"(server|loadtest)/", row) and row not in folders:
            refuse(ARCHITECTURE, f"the table of rooms has {row}, which is not there")
    walk = re.findall(r"^(\d+)\. \[([^\]]+)\]", text, re.M)
    if not walk or walk[0][1] != "server/main.c" or walk[-1][1] != "sql/statements.sql":
        refuse(ARCHITECTURE, "the walk goes from server/main.c to sql/statements.sql")


def main():
    files = sorted(files_below(ROOT))
    if ARCHITECTURE not in files:
        sys.exit(f"no {ARCHITECTURE} under {ROOT}: nothing was checked")
    ends = set()
    for file in files:
        parts = ("/" + file).split("/")
        ends.update("/" + "/".join(parts[i:]) for i in range(1, len(parts)))
    words, flags = names_in_sources(files)
    for file in files:
        if file.endswith(".md"):
            check_links(file)
            if os.path.basename(file) != "CHANGELOG.md":  # it names what was there once
                check_names(file, words, flags)
        elif file.endswith((".c", ".h", ".sql", ".lua", ".sh", ".py", "CMakeLists.txt")):
            check_comments(file, ends)
    check_rooms(files)
    print("\n".join(broken), file=sys.stderr)
    print(f"{len(files)} files, {len(broken)} things named that are not there")
    sys.exit(bool(broken))


main()
