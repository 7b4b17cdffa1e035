#!/usr/bin/env python3
"""picture.py LOADTEST [--check] [ROOT]: draws the README's picture, or says whether what stands there is stale.

docs/run/rates.svg is what `LOADTEST report` draws of docs/run/results.json, for the strategies below. That file has the run
which docs/RESULTS.md prints: each line of its table must be found there, with the same figures. Both READMEs must show it.
"""
import json
import os
import re
import statistics
import subprocess
import sys

DATA, PICTURE, TABLE = "docs/run/results.json", "docs/run/rates.svg", "docs/RESULTS.md"
READMES = ["README.md", "README.zh.md"]
STRATEGIES = ["none", "local-lock", "pessimistic", "optimistic", "conditional", "pipelined", "batch", "redis-token", "redis-fenced",
              "redis-queue", "redis-stock", "partitioned-queue"]
# strategy, instances, requests/s, committed/s, refused/s, failed/s, p50, p99, stock, sold, left, oversold, lost, verdict;
# then what else it needs to be right
LINE = re.compile(r"^([a-z-]+) +(\d+) +\d+ ±\d+ +(\d+) ±(\d+) +\d+ +\d+ +([\d.]+) +([\d.]+) +(\d+) +(\d+) +\d+ +(\d+) +(\d+)"
                  r"  (\S+(?: \S+)*) ", re.MULTILINE)

check = "--check" in sys.argv
arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
if not arguments:
    sys.exit(__doc__)
loadtest = os.path.abspath(arguments[0])
os.chdir(arguments[1] if len(arguments) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def read(file):
    with open(file, encoding="utf-8") as text:
        return text.read()


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


def measured():
    """The same, from the data, and rounded as the harness rounds: rates and latencies are medians of the rounds that tell
    of the servers, ± is half of their spread, and the rest is the worst round's."""
    lines = {}
    for run in json.loads(read(DATA))["runs"]:
        lines.setdefault((run["strategy"], run["instances"]), []).append(run)
    figures = {}
    for key, runs in lines.items():
        rounds = [run for run in runs if run["phase"] == "speed" and run["limit"] != "generator"]
        rates = [run["committed_per_s"] for run in rounds]
        worst = max((run for run in runs if run["phase"] == "truth"), key=violations)
        figures[key] = (round(statistics.median(rates)), round((max(rates) - min(rates)) / 2), latency(rounds, "p50"),
                        latency(rounds, "p99"), worst["stock"], worst["audit"]["sold"], worst["audit"]["oversold"],
                        max(run["audit"]["lost_updates"] for run in runs), worst["verdict"])
    return figures


def draw():
    drawn = subprocess.run([loadtest, "report", DATA, "--picture", "--strategies", ",".join(STRATEGIES)],
                           stdout=subprocess.PIPE, check=True, encoding="utf-8")
    return drawn.stdout


def complaints(picture):
    table, data = printed(), measured()
    for key in sorted(table.keys() | data.keys()):
        if table.get(key) != data.get(key):
            yield f"{key[0]}, {key[1]} instances: {TABLE} has {table.get(key)}, {DATA} {data.get(key)}"
    for readme in READMES:
        if f"]({PICTURE})" not in read(readme):
            yield f"{readme} does not show {PICTURE}"
    if not os.path.exists(PICTURE) or read(PICTURE) != picture:
        yield f"{PICTURE} is not what the harness draws of {DATA}: scripts/picture.py build/dev/loadtest/seckill-loadtest"


new = draw()
if not check:
    with open(PICTURE, "w", encoding="utf-8") as out:
        out.write(new)
wrong = list(complaints(new))
print("\n".join(wrong) or f"{PICTURE}: {len(printed())} lines of {TABLE}, of which {len(STRATEGIES)} strategies are drawn")
sys.exit(1 if wrong else 0)
