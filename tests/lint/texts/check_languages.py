#!/usr/bin/env python3
"""check_languages.py [ROOT]: a text and its Chinese translation (X.md, X.zh.md) have the same parts.

Compared are the headings (how many, of which level; one that is a strategy's name is the same in both), the tables
(where they stand, their columns and rows; a name in code in a row's first column is the same in both, and so are a row's
figures), and the blocks of code (how many a section; what was printed, a block of text or json, is the same). The texts that are to exist in both languages are listed here.
What the sentences say is for a reader to compare.
"""
import glob
import os
import re
import sys

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..", "..")
TRANSLATED = ["README", "docs/ARTICLES", "docs/FAQ", "docs/JUDGING", "docs/STRATEGIES"]
NAME = re.compile(r"[a-z]+(-[a-z]+)*")

broken = []


def refuse(file, what):
    broken.append(f"{file}: {what}")


class Section:
    """A heading and what stands below it, up to the next one. Before the first heading the level is 0."""

    def __init__(self, level, title, line):
        self.level, self.title, self.line = level, title, line
        self.tables = []  # a list of rows each; the row of dashes is left out
        self.blocks = []  # each: its lines, the first with the language


def cells(line):
    return [cell.strip() for cell in re.sub(r"(^\||\|$)", "", line.strip()).split("|")]


def read(file):
    sections = [Section(0, "", 1)]
    fenced = in_table = False
    with open(os.path.join(ROOT, file), encoding="utf-8") as text:
        for number, line in enumerate(text.read().splitlines(), 1):
            here = sections[-1]
            if line.lstrip().startswith("```"):
                if not fenced:
                    here.blocks.append([])
                fenced = not fenced
            if fenced:
                here.blocks[-1].append(line)
            if not fenced and (heading := re.match(r"(#+) (.*)", line)):
                sections.append(Section(len(heading[1]), heading[2].strip(), number))
            row = not fenced and line.startswith("|")
            if row:
                if not in_table:
                    here.tables.append([])
                if not re.fullmatch(r"[|\s:-]+", line):
                    here.tables[-1].append((number, cells(line)))
            in_table = row
    return sections, number


def where(section):
    return f"line {section.line} ({section.title or 'the beginning'})"


def figures(row):
    return sorted(re.findall(r"\d+(?:[.,]\d+)*", " ".join(row)))


def compare_blocks(file, one, other):
    if len(one.blocks) != len(other.blocks):
        refuse(file, f"{where(other)} has {len(other.blocks)} blocks of code, the English section {len(one.blocks)}")
        return
    for ours, theirs in zip(one.blocks, other.blocks):
        if ours[0] in ("```text", "```json") and ours != theirs:
            refuse(file, f"{where(other)}: a block that begins with {ours[0]} is not that of the English text")


def compare_tables(file, one, other):
    if len(one.tables) != len(other.tables):
        refuse(file, f"{where(other)} has {len(other.tables)} tables, and {where(one)} of the English text {len(one.tables)}")
        return
    for ours, theirs in zip(one.tables, other.tables):
        if len(ours) != len(theirs):
            refuse(file, f"the table at line {theirs[0][0]} has {len(theirs)} rows, the English one {len(ours)}")
            continue
        for (_, english), (number, row) in zip(ours, theirs):
            names = [sorted(re.findall(r"`[^`]*`", first)) for first in (english[0], row[0])]
            if len(english) != len(row):
                refuse(file, f"line {number} has {len(row)} columns, the English row {len(english)}")
            elif names[0] != names[1]:
                refuse(file, f"line {number} begins with {row[0]}, the English row with {english[0]}")
            elif figures(english) != figures(row):
                refuse(file, f"line {number} has the figures {figures(row)}, the English row {figures(english)}")


def compare(english, file):
    ours, theirs = read(english)[0], read(file)[0]
    for one, other in zip(ours, theirs):
        if one.level != other.level or (NAME.fullmatch(one.title) and one.title != other.title):
            refuse(file, f"{where(other)} stands where the English text has {where(one)}")
            return
        compare_tables(file, one, other)
        compare_blocks(file, one, other)
    for more, who in ((ours, "the English text"), (theirs, "it")):
        for section in more[min(len(ours), len(theirs)):]:
            refuse(file, f"only {who} has {where(section)}")


def main():
    found = {os.path.relpath(path, ROOT)[:-len(".zh.md")]
             for pattern in ("*.zh.md", "docs/**/*.zh.md")
             for path in glob.glob(os.path.join(ROOT, pattern), recursive=True)}
    names = sorted(found | set(TRANSLATED))
    for name in names:
        missing = [file for file in (f"{name}.md", f"{name}.zh.md") if not os.path.exists(os.path.join(ROOT, file))]
        for file in missing:
            refuse(file, f"is not there; {name} has to be in English and, as {name}.zh.md, in Chinese")
        if not missing:
            compare(f"{name}.md", f"{name}.zh.md")
    print("\n".join(broken), file=sys.stderr)
    print(f"{len(names)} texts in two languages, {len(broken)} differences")
    sys.exit(bool(broken))


main()
