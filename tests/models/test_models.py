#!/usr/bin/env python3
"""test_models.py MODELS: spin's verdict on each row of MODELS/verdicts.tsv, against the row.

Its columns are model, variant, property, verdict and states. Fails for each difference, and for a model, a property
or a variant that no row names: it would never be looked at. Exit status 77 where spin or a C compiler is missing.
"""
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile

DEADLOCK = "no_deadlock"


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def build(model, variant, deadlock, folder):
    """pan for this variant; where deadlocks are looked for, without the formulas."""
    spin = run(["spin", "-a", *[f"-D{name}" for name in variant.split()], model], folder)
    if not os.path.exists(os.path.join(folder, "pan.c")):
        return spin.stdout
    made = run(["cc", "-O0", "-w", *(["-DNOCLAIM"] if deadlock else []), "-o", "pan", "pan.c"], folder)
    return "" if made.returncode == 0 else made.stdout


def judge(output):
    """(verdict, states) of what pan has said; a search that did not come to its end is none."""
    errors = re.search(r"errors: (\d+)", output)
    states = re.search(r"(\d+) states, stored", output)
    if not errors or not states or "max search depth too small" in output:
        return f"no verdict: {output.strip()[-300:]}", "0"
    return ("holds" if errors[1] == "0" else "violated"), states[1]


def verdicts(models, rows):
    """Of each row; rows of one variant share a pan."""
    made = {}
    with tempfile.TemporaryDirectory() as work:
        for row in rows:
            deadlock = row["property"] == DEADLOCK
            kind = (row["model"], row["variant"], deadlock)
            if kind not in made:
                folder = tempfile.mkdtemp(dir=work)
                made[kind] = folder, build(os.path.join(models, row["model"] + ".pml"), row["variant"], deadlock, folder)
            folder, trouble = made[kind]
            if trouble:
                yield row, (f"it cannot be built: {trouble.strip()[-300:]}", "0")
                continue
            claim = [] if deadlock else ["-a", "-N", row["property"]]
            yield row, judge(run(["./pan", "-m100000", *claim], folder).stdout)


def unnamed(models, rows):
    """What stands in a model and in no row."""
    for name in sorted(os.listdir(models)):
        if not name.endswith(".pml"):
            continue
        model = name[:-4]
        with open(os.path.join(models, name), encoding="utf-8") as text:
            source = re.sub(r"/\*.*?\*/", "", text.read(), flags=re.S)
        own = [row for row in rows if row["model"] == model]
        tested = set(" ".join(row["variant"] for row in own).split())
        wanted = set(re.findall(r"^\s*#\s*(?:ifdef|ifndef)\s+(\w+)", source, re.M))
        wanted |= set(re.findall(r"defined\s*\(\s*(\w+)\s*\)", source))
        claims = set(re.findall(r"^ltl (\w+)", source, re.M))
        yield from (f"{name}: no row has the variant {word}" for word in sorted(wanted - tested))
        yield from (f"{name}: no row has the property {word}" for word in sorted(claims - {row["property"] for row in own}))
        yield from (f"{name}: there is no variant {word}" for word in sorted(tested - wanted))
        asked = {row["property"] for row in own} - {DEADLOCK}
        yield from (f"{name}: there is no property {word}" for word in sorted(asked - claims))


def main():
    models = os.path.abspath(sys.argv[1])
    if not shutil.which("spin") or not shutil.which("cc"):
        print("spin, or a C compiler, is not installed")
        return 77
    with open(os.path.join(models, "verdicts.tsv"), encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    broken = list(unnamed(models, rows))
    if not broken:
        for row, (verdict, states) in verdicts(models, rows):
            what = f"{row['model']} {row['variant'] or '-'} {row['property']}"
            if (verdict, states) != (row["verdict"], row["states"]):
                broken.append(f"{what}: {verdict}, {states} states; the table says {row['verdict']}, {row['states']}")
            print(f"{verdict:8} {states:>8}  {what}")
    for line in broken:
        print(line, file=sys.stderr)
    print(f"{len(rows)} rows, {len(broken)} differences")
    return 1 if broken or not rows else 0


sys.exit(main())
