#!/usr/bin/env python3
"""picture.py [--check] [ROOT]: draws the README's picture, or says whether what stands there is stale.

docs/run/rates.svg is drawn of docs/run/results.json, for the usual strategies, which are bold in docs/STRATEGIES.md, as the report's page draws it. That file has
the run which docs/RESULTS.md prints: each line of its table must be found there, with the same figures. Both READMEs must
show the picture.
"""
import json
import math
import os
import re
import statistics
import sys

DATA, PICTURE, TABLE = "docs/run/results.json", "docs/run/rates.svg", "docs/RESULTS.md"
READMES = ["README.md", "README.zh.md"]
IN_WORDS = {"unsafe, as stated": "oversold"}   # what the table prints for a verdict of the data's
# strategy, instances, requests/s, committed/s, refused/s, failed/s, p50, p99, stock, sold, left, oversold, lost, verdict;
# then what else it needs to be right
LINE = re.compile(r"^([a-z-]+) +(\d+) +\d+ ±\d+ +(\d+) ±(\d+) +\d+ +\d+ +([\d.]+) +([\d.]+) +(\d+) +(\d+) +\d+ +(\d+) +(\d+)"
                  r"  (\S+(?: \S+)*) ", re.MULTILINE)

# What can go wrong with a strategy: told by colour and by a sign, in both languages, for a picture has no reader's choice.
CLASSES = {"safe": ("✓", "right whatever happens", "无论发生什么都正确", 20),
           "care": ("△", "wrong when a lock holder stalls, or its store forgets", "持锁者停顿或存储丢数据时会出错", 200),
           "bad": ("✗", "oversold in this run: sold / stock", "本次超卖：卖出 / 库存", 530)}
STYLE = ("svg{--ground:#fff;--ink:#1a1c20;--faint:#5c6470;--line:#d9dde3;--safe:#007a5a;--care:#c98500;--bad:#a51d08}"
         "@media(prefers-color-scheme:dark){svg{--ground:#14161a;--ink:#e8eaee;--faint:#a0a8b4;--line:#343a44;--safe:#2fbf94;"
         "--care:#f2c14e;--bad:#f0603c}}")
TITLE = "Committed orders a second · 每秒落库的订单"
WIDTH, LABELS, PLOT, CAPTION, TOP, ROW, GAP, BAR, FOOT, KEY = 760, 178, 430, 32, 26, 17, 7, 12, 8, 40

check = "--check" in sys.argv
arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
os.chdir(arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def read(file):
    with open(file, encoding="utf-8") as text:
        return text.read()


STRATEGIES = re.findall(r"^\| \*\*\[?`([a-z-]+)`", read("docs/STRATEGIES.md"), re.MULTILINE)


def printed():
    """The lines of the table, as figures."""
    return {(strategy, int(instances)): (int(rate), int(spread), float(p50), float(p99), int(stock), int(sold), int(oversold),
                                         int(lost), verdict)
            for strategy, instances, rate, spread, p50, p99, stock, sold, oversold, lost, verdict in LINE.findall(read(TABLE))}


def latency(rounds, percentile):
    ms = statistics.median(run["latency_us"][percentile] for run in rounds) / 1000
    return round(ms, 2 if ms < 100 else 1)


def violations(run):
    return sum(run["audit"][kind] for kind in ("oversold", "lost_updates", "duplicate_orders", "limit_violations"))


def lines_of():
    """The data's runs, by strategy and number of instances."""
    lines = {}
    for run in json.loads(read(DATA))["runs"]:
        lines.setdefault((run["strategy"], run["instances"]), []).append(run)
    return lines


def rounds_of(runs):
    """The rounds that tell of the servers."""
    return [run for run in runs if run["phase"] == "speed" and run["limit"] != "generator"]


def worst_of(runs):
    return max((run for run in runs if run["phase"] == "truth"), key=violations)


def measured():
    """The same, from the data, and rounded as the harness rounds: rates and latencies are medians of the rounds that tell
    of the servers, ± is half of their spread, and the rest is the worst round's."""
    figures = {}
    for key, runs in lines_of().items():
        rounds, worst = rounds_of(runs), worst_of(runs)
        rates = [run["committed_per_s"] for run in rounds]
        figures[key] = (round(statistics.median(rates)), round((max(rates) - min(rates)) / 2), latency(rounds, "p50"),
                        latency(rounds, "p99"), worst["stock"], worst["audit"]["sold"], worst["audit"]["oversold"],
                        max(run["audit"]["lost_updates"] for run in runs), IN_WORDS.get(worst["verdict"], worst["verdict"]))
    return figures


def class_of(runs):
    if worst_of(runs)["audit"]["oversold"] or any(run["audit"]["lost_updates"] or run["verdict"] == "BROKEN" for run in runs):
        return "bad"
    return "safe" if {"paused_holder", "redis_failover"} <= set(runs[0]["promise"]) else "care"


def text(x, y, what, anchor="end", colour="ink", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more} style="fill:var(--{colour})">{what}</text>\n'


def small(x, y, what, anchor="end", colour="faint"):
    return text(x, y, what, anchor, colour, ' font-size="10"')


def path(d, colour):
    return f'<path d="{d}" style="stroke:var(--{colour});fill:none"/>\n'


def row(place, runs, middle):
    """A bar to the median, a whisker from the least to the most, and behind it what went wrong."""
    rates, its = [run["committed_per_s"] for run in rounds_of(runs)], class_of(runs)
    median, worst = statistics.median(rates), worst_of(runs)
    low, high = place(min(rates)), place(max(rates))
    oversold = f" {worst['audit']['sold']} / {worst['stock']}" if worst["audit"]["oversold"] else ""
    return (f'<rect x="{LABELS}" y="{middle - BAR / 2:.1f}" width="{place(median) - LABELS:.1f}" height="{BAR}" rx="2"'
            f' style="fill:var(--{its})"/>\n'
            + path(f"M{low:.1f} {middle:.1f}H{high:.1f}M{low:.1f} {middle - 3:.1f}v6M{high:.1f} {middle - 3:.1f}v6", "ink")
            + text(high + 6, middle + 4, f"{median:.0f} {CLASSES[its][0]}{oversold}", "start"))


def draw():
    """The strategies, the fastest first, on an axis from 0 to the next multiple of its step."""
    lines = {key: runs for key, runs in lines_of().items() if key[0] in STRATEGIES}
    rates = [run["committed_per_s"] for runs in lines.values() for run in rounds_of(runs)]
    step = 10 ** math.floor(math.log10(max(rates)))
    last = math.ceil(max(rates) / step)

    def place(rate):
        return LABELS + PLOT * rate / (last * step)

    def best(strategy):
        return max(statistics.median(run["committed_per_s"] for run in rounds_of(runs)) for key, runs in lines.items() if key[0] == strategy)

    top = CAPTION + TOP
    y, drawn = top - ROW - GAP, ""
    for strategy in sorted(STRATEGIES, key=best, reverse=True):
        for number, instances in enumerate(sorted(key[1] for key in lines if key[0] == strategy)):
            y += ROW + (0 if number else GAP)
            middle = y + BAR / 2
            drawn += "" if number else text(LABELS - 34, middle + 4, strategy)
            drawn += small(LABELS - 6, middle + 4, f"×{instances}") + row(place, lines[strategy, instances], middle)
    bottom = y + ROW
    grid = "".join(path(f"M{place(tick):.1f} {top - 6}V{bottom + 2}", "line") + small(place(tick), CAPTION + 14, tick, "middle")
                   for tick in range(0, (last + 1) * step, step))
    key = bottom + FOOT + 14
    keys = "".join(f'<rect x="{x}" y="{key - 9}" width="10" height="10" rx="2" style="fill:var(--{name})"/>\n'
                   + small(x + 16, key, f"{sign} {english}", "start", "ink") + small(x + 16, key + 14, chinese, "start")
                   for name, (sign, english, chinese, x) in CLASSES.items())
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + FOOT + KEY}" role="img"'
            f' font-family="system-ui, sans-serif" font-size="12"><style>{STYLE}</style>\n<title>{TITLE}</title>\n'
            '<rect width="100%" height="100%" style="fill:var(--ground)"/>\n'
            + text(20, 22, TITLE, "start", "ink", ' font-weight="600"') + grid + drawn + keys + "</svg>\n")


def complaints(picture):
    table, data = printed(), measured()
    for key in sorted(table.keys() | data.keys()):
        if table.get(key) != data.get(key):
            yield f"{key[0]}, {key[1]} instances: {TABLE} has {table.get(key)}, {DATA} {data.get(key)}"
    for readme in READMES:
        if f"]({PICTURE})" not in read(readme):
            yield f"{readme} does not show {PICTURE}"
    if not os.path.exists(PICTURE) or read(PICTURE) != picture:
        yield f"{PICTURE} is not what is drawn of {DATA}: scripts/picture.py"


new = draw()
if not check:
    with open(PICTURE, "w", encoding="utf-8") as out:
        out.write(new)
wrong = list(complaints(new))
print("\n".join(wrong) or f"{PICTURE}: {len(printed())} lines of {TABLE}, of which {len(STRATEGIES)} strategies are drawn")
sys.exit(1 if wrong else 0)
