#!/usr/bin/env python3
"""strategy_tables.py SERVER [--check] [ROOT]: writes the table of strategies into docs/STRATEGIES.md and
docs/STRATEGIES.zh.md, or says which is stale.

It holds what `SERVER --strategies=markdown` prints, promises as letters; each name links to the page that has a heading of
that name, or a title that begins with it. In Chinese the sentence that stands there is kept, and a strategy that has none
yet gets its English one. Only what stands between the two marks is touched.
"""
import glob
import os
import re
import subprocess
import sys

BEGIN = "<!-- strategies: written by scripts/strategy_tables.py -->\n"
END = "<!-- /strategies -->\n"
CHINESE = re.compile("[\u4e00-\u9fff]")
# Where a strategy is told of, the first that has it. In Chinese only some pages are there.
PAGES = ["docs/STRATEGIES.md", "docs/strategies/*.md", "docs/*[A-Z].md"]
CHINESE_PAGES = ["docs/STRATEGIES.zh.md", "docs/*.zh.md", "docs/strategies/*.md", "docs/*.md"]

check = "--check" in sys.argv
arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
if not arguments:
    sys.exit(__doc__)
server = os.path.abspath(arguments[0])
os.chdir(arguments[1] if len(arguments) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def read(file):
    with open(file, encoding="utf-8") as text:
        return text.read()


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(head, rows):
    return "".join("| " + " | ".join(row) + " |\n" for row in [head, ["---"] * len(head)] + rows)


def parts(file):
    """What stands before the table, the table, what stands behind it."""
    text = read(file)
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{file}: not one table between the two marks")
    before, rest = text.split(BEGIN)
    return before + BEGIN, *rest.split(END)


def find_page(name, pages):
    """Where the heading with the strategy's name is, from docs/."""
    for pattern in pages:
        for file in sorted(glob.glob(pattern)):
            heading = re.search(rf"^(?:(#) {re.escape(name)}\b.*|(##) {re.escape(name)})$", read(file), re.M | re.I)
            if heading:
                path = "" if file == pages[0] else os.path.relpath(file, "docs")
                return path + ("#" + name if heading[2] else "")
    return ""


def chinese_sentences():
    """Of each strategy that has one, its Chinese sentence."""
    rows = [cells(line) for line in parts("docs/STRATEGIES.zh.md")[1].splitlines()[2:]]
    return {re.search("`.*`", row[0])[0]: row[1] for row in rows if CHINESE.search(row[1])}


def with_pages(rows, head, nothing, pages, told):
    def row(name, how, needs, *promises):
        letters = [letter for letter, promise in zip("1NPF", promises) if promise == "yes"]
        more = [need for need in needs.split(", ") if need != "postgresql"]
        page = find_page(name.strip("`"), pages)
        return [f"[{name}]({page})" if page else name, told.get(name, how), ", ".join(more), " ".join(letters) or nothing]

    return table(head, [row(*each) for each in rows])


def main():
    lines = subprocess.run([server, "--strategies=markdown"], check=True, capture_output=True, text=True).stdout
    rows = [cells(line) for line in lines.splitlines()[2:]]
    stale = []
    texts = [
        ("docs/STRATEGIES.md", with_pages(rows, ["strategy", "how", "needs besides PostgreSQL", "promise"], "nothing",
                                          PAGES, {})),
        ("docs/STRATEGIES.zh.md", with_pages(rows, ["策略", "做法", "PostgreSQL 之外还需要", "承诺"], "无",
                                             CHINESE_PAGES, chinese_sentences())),
    ]
    for file, new in texts:
        before, old, after = parts(file)
        if old == new:
            continue
        stale.append(file)
        if not check:
            with open(file, "w", encoding="utf-8") as text:
                text.write(before + new + END + after)
    if check and stale:
        sys.exit(f"stale: {', '.join(stale)}: run scripts/strategy_tables.py {arguments[0]}")
    print(f"{len(rows)} strategies" + (f", written into {', '.join(stale)}" if stale else ""))


main()
