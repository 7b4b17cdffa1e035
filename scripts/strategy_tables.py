#!/usr/bin/env python3
"""strategy_tables.py SERVER [--check] [ROOT]: writes the table of strategies into docs/STRATEGIES.md and
docs/STRATEGIES.zh.md, or says which is stale.

It holds what `SERVER --strategies=markdown` prints, the usual ones first and bold, and what docs/run/results.json says of
three instances; each name links to the page that has a heading of that name, or a title that begins with it. Only what
stands between the two marks is touched.
"""
import glob
import json
import os
import re
import statistics
import subprocess
import sys

BEGIN = "<!-- strategies: written by scripts/strategy_tables.py -->\n"
END = "<!-- /strategies -->\n"
# Where a strategy is told of, the first that has it. In Chinese only some pages are there.
PAGES = ["docs/STRATEGIES.md", "docs/strategies/*.md", "docs/*[A-Z].md"]
CHINESE_PAGES = ["docs/STRATEGIES.zh.md", "docs/*.zh.md", "docs/strategies/*.md", "docs/*.md"]
# As the harness's table and the report have them.
CHINESE_WORDS = {"anything-happens": "无论发生什么", "no-failover": "没有故障切换", "no-stall": "没有停顿",
                 "no-failover-without-replicas": "没有故障切换，或有副本确认", "no-stall/failover": "没有停顿和故障切换",
                 "one-instance": "只有一个实例", "never": "从不"}
ENGLISH = {words: words.replace("-", " ") for words in CHINESE_WORDS}

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


def sold():
    """Of each strategy, what three instances sold a second: the median of the rounds, in conditional's."""
    rates = {}
    for run in json.loads(read("docs/run/results.json"))["runs"]:
        if run["instances"] == 3 and run["phase"] == "speed" and run["limit"] != "generator":
            rates.setdefault(run["strategy"], []).append(run["committed_per_s"])
    medians = {name: statistics.median(of) for name, of in rates.items()}
    return {name: f"×{rate / medians['conditional']:.2f}" for name, rate in medians.items()}


def with_pages(rows, head, words, pages, in_chinese):
    sells = sold()

    def row(name, english, chinese, needs, right_if, usual):
        more = [need for need in needs.split(", ") if need != "postgresql"]
        page = find_page(name.strip("`"), pages)
        linked = f"[{name}]({page})" if page else name
        how = in_chinese and chinese or english
        return [f"**{linked}**" if usual == "yes" else linked, how, ", ".join(more), words[right_if],
                sells.get(name.strip("`"), "")]

    return table(head, [row(*each) for each in sorted(rows, key=lambda each: each[-1] != "yes")])


def main():
    lines = subprocess.run([server, "--strategies=markdown"], check=True, capture_output=True, text=True).stdout
    rows = [cells(line) for line in lines.splitlines()[2:]]
    stale = []
    texts = [
        ("docs/STRATEGIES.md", with_pages(rows, ["strategy", "how", "needs besides PostgreSQL", "right if", "sells"],
                                          ENGLISH, PAGES, False)),
        ("docs/STRATEGIES.zh.md", with_pages(rows, ["策略", "做法", "PostgreSQL 之外还需要", "何时正确", "卖出"],
                                             CHINESE_WORDS, CHINESE_PAGES, True)),
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
