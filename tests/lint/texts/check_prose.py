#!/usr/bin/env python3
"""check_prose.py [ROOT]: a comment's sentence has a noun for its subject.

Counts the sentences in comments of the C sources that have "who" or "whoever", or at their beginning "what is", "what
was" or "what has", in the place of one ("Who waits is woken"). Not each is wrong: MOST may stand.
"""

import bisect
import pathlib
import re
import sys

MOST = 3
ROOT = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ("server", "loadtest", "bench", "tests")
COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
BREAK = re.compile(r"\s*\n\s*\*? ?")
END = re.compile(r"(?<=[.;:])\s+")
VERB = (r"(?:is|was|has|had|are|were|does|did|will|would|may|might|can|could|must|should|[a-z]{2,}s|[a-z]{2,}ed"
        r"|came|sent|saw|read|asked|took|held|got)")
FINDINGS = (
    re.compile(rf"(?:Who|Whoever) {VERB}"),
    re.compile(r"What (?:is|was|has|had|are|were)\b"),
    re.compile(r"(?:Of|For|By|To|From|With) (?:who|whoever|what)\b"),
    re.compile(rf".*\b(?:by|of|for|to|from|with|than|that|as|and|or|but|at|which|when|if|where|,) (?:who|whoever) {VERB}"),
)


def sentences(text):
    """Each sentence of the text's comments, and its line."""
    for comment in COMMENT.finditer(text):
        words, starts, lines = "", [], []
        for number, line in enumerate(BREAK.split(comment.group(1))):
            words += " " if number else ""
            starts.append(len(words))
            words += line
        # Where each of those lines begins in the file: an empty one is part of the break before it.
        at = comment.start(1)
        for line in BREAK.split(comment.group(1)):
            at = text.index(line, at)
            lines.append(text.count("\n", 0, at) + 1)
            at += len(line)
        begin = 0
        for end in [*END.finditer(words), None]:
            sentence = words[begin:end.start() if end else len(words)]
            begin += len(sentence) - len(sentence.lstrip())
            yield lines[bisect.bisect_right(starts, begin) - 1], sentence.strip()
            begin = end.end() if end else begin


def main():
    files = [file for program in PROGRAMS for file in sorted((ROOT / program).rglob("*.[ch]"))]
    found, total = [], 0
    for file in files:
        for line, sentence in sentences(file.read_text(encoding="utf-8")):
            total += 1
            if any(finding.match(sentence) for finding in FINDINGS):
                found.append(f"{file.relative_to(ROOT)}:{line}: {sentence[:160]}")
    if not files or len(found) > MOST:
        print("\n".join(found), file=sys.stderr)
    print(f"{len(files)} files, {total} sentences, {len(found)} without a noun for subject; {MOST} may be")
    return 1 if not files or len(found) > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
