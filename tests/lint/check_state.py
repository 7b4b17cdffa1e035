#!/usr/bin/env python3
"""check_state.py BUILD [LIST]: state lives in instances, so that a process may run two apps.

Reads the objects of server/ in BUILD for variables that can be written, a thread's own among them. Each has a line in
tests/lint/known_state.txt, "FILE NAME  why it is the process's"; the list may only become shorter.
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

SYMBOL = re.compile(r"^\S+ .{7} (?:\.(?:bss|data|tbss|tdata)\S*|\*COM\*)\t\S+ (?:\.hidden )?(\S+)$", re.MULTILINE)
CONSTANT = re.compile(r" \.data\.rel\.ro\S*\t")  # pointers in it are set by the loader alone


def read_objects(build, program="server"):
    """The program's sources and their objects; those that two programs compile once."""
    objects = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        source = pathlib.Path(entry["file"])
        words = shlex.split(entry["command"])
        target = pathlib.Path(entry["directory"]) / words[words.index("-o") + 1]
        if program in source.parts and target.is_relative_to(build / program):
            name = source.parts[source.parts.index(program):]
            objects.setdefault("/".join(name), target)
    return objects


def find_state(objects):
    found = set()
    for source, target in objects.items():
        lines = subprocess.run(["objdump", "-t", target], check=True, capture_output=True, text=True).stdout.splitlines()
        text = "\n".join(line for line in lines if not CONSTANT.search(line))
        found |= {(source, re.sub(r"\.\d+$", "", name)) for name in SYMBOL.findall(text) if name[0] != "."}
    return found


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    known_path = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).with_name("known_state.txt")
    known = {tuple(line.split()[:2]) for line in known_path.read_text(encoding="utf-8").splitlines()
             if line and line[0] != "#"}
    objects = read_objects(build)
    found = find_state(objects)
    for source, name in sorted(found - known):
        print(f"{source}: `{name}` is the process's: put it into an instance", file=sys.stderr)
    gone = {(source, name) for source, name in known - found if source in objects}
    for source, name in sorted(gone):
        print(f"{known_path.name}: {source} has no `{name}` any more: take its line out", file=sys.stderr)
    if not objects:
        print(f"no objects of server/ in {build}: nothing was checked", file=sys.stderr)
    print(f"{len(objects)} files, {len(found - known) + len(gone)} variables that should not be")
    return 1 if found - known or gone or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
