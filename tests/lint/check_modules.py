#!/usr/bin/env python3
"""check_modules.py [ROOT [BUILD]]: what tools and readers find by name stands once, and no files need each other.

Names: no external function is defined by two of the programs (server, loadtest, bench), so that whoever jumps to one
lands in the right program.

Circles: of the files of each program, a header, its implementation and x_internal.h of x.h counted as one, none includes
what includes it, by whatever way.

Calls, by the symbols of the objects in BUILD, for an include is only leave to call: no file needs a symbol of one that
needs it, by whatever way, and none needs a symbol of a room that does not stand to the right of its own
(check_layers.sh has the rooms). An external function has a caller in the programs, or is in SEEN_BY_TESTS.
"""

import pathlib
import re
import subprocess
import sys

import check_state

PROGRAMS = ("server", "loadtest", "bench")

# Functions that only tests call: what they look at cannot be seen from outside.
SEEN_BY_TESTS = {
    "metrics_shards": "a thread that ends leaves its shard to the next",
    "relay_wait": "a test goes on when its fault has bitten; a run only counts",
}

DEFINITION = re.compile(
    r"^(?:__attribute__\(\(.*?\)\)\s+)?(?!static\b|typedef\b)[A-Za-z_][\w *]*?[ *]([a-z_]\w*)\([^;{}]*\)\n\{",
    re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def read_sources(root):
    """Every source by its path from the root, without comments."""
    sources = {}
    for program in PROGRAMS:
        for path in sorted((root / program).rglob("*.[ch]")):
            sources[path.relative_to(root)] = COMMENT.sub(" ", path.read_text(encoding="utf-8"))
    return sources


def find_namesakes(sources):
    """Functions that two programs define: a complaint each."""
    places = {}
    for path, text in sources.items():
        if path.suffix == ".c":
            for name in DEFINITION.findall(text):
                places.setdefault(name, []).append(path)
    for name, paths in sorted(places.items()):
        if name != "main" and len({path.parts[0] for path in paths}) > 1:
            yield f"{name} is defined in {' and in '.join(map(str, paths))}"


def build_graph(sources):
    """Which file includes which: names without their suffix, a header, its implementation and its other half are one."""
    headers = {path: path.with_name(path.stem.removesuffix("_internal")) for path in sources}
    graph = {module: set() for module in headers.values()}
    for path, text in sources.items():
        module = headers[path]
        for name in INCLUDE.findall(text):
            for place in (pathlib.Path(name), pathlib.Path("server") / name):
                if place in headers and headers[place] != module:
                    graph[module].add(headers[place])
    return graph


def reach(graph, module):
    """Everything that the module needs, directly or not."""
    seen, ahead = set(), list(graph[module])
    while ahead:
        at = ahead.pop()
        if at not in seen:
            seen.add(at)
            ahead.extend(graph[at])
    return seen


def find_circles(graph):
    """Each set of modules that all reach each other, sorted."""
    reached = {module: reach(graph, module) for module in graph}
    circles = set()
    for module, others in reached.items():
        circle = {other for other in others if module in reached[other]}
        if circle:
            circles.add(tuple(sorted(map(str, circle | {module}))))
    return sorted(circles)


def read_symbols(build):
    """What the objects of the programs define and need: {source: (target, {symbol: nm's letter})}."""
    objects = {source: target for program in PROGRAMS
               for source, target in check_state.read_objects(build, program).items()}
    kinds = {str(target): {} for target in objects.values()}
    # All at once: each nm loads the plugins of the compilers that are installed, which takes longer than to read.
    if kinds:
        lines = subprocess.run(["nm", "-gPA", *objects.values()], check=True, capture_output=True, text=True).stdout
        for target, symbol in (line.split(": ", 1) for line in lines.splitlines()):
            name, letter = symbol.split()[:2]
            kinds[target][name] = letter
    return {source: (target, kinds[str(target)]) for source, target in objects.items()}


def read_calls(symbols):
    """Which source of a program needs a symbol of which other one: {source: {other: symbol}}."""
    homes = {name: source for source, (_, kinds) in symbols.items() for name in kinds if kinds[name] not in "Uvw"}
    return {source: {homes[name]: name for name in kinds if homes.get(name, source) != source}
            for source, (_, kinds) in symbols.items()}


def find_uncalled(symbols):
    """External functions that no program refers to, not even their own file: a complaint each."""
    needed = {name for _, kinds in symbols.values() for name in kinds if kinds[name] == "U"} | {"main"}
    for source, (target, kinds) in sorted(symbols.items()):
        left = {name for name in kinds if kinds[name] == "T"} - needed
        if left:
            rows = subprocess.run(["readelf", "-rW", target], check=True, capture_output=True, text=True).stdout
            left -= {row[4] for row in map(str.split, rows.splitlines()) if len(row) > 4}
        for name in sorted(left - SEEN_BY_TESTS.keys()):
            yield f"{name} of {source} is called by tests at most"
        for name in sorted((SEEN_BY_TESTS.keys() & kinds.keys()) - left):
            if kinds[name] == "T":
                yield f"{name} of {source} is in SEEN_BY_TESTS, and is called by the programs"


def read_levels():
    """The rooms of check_layers.sh, each with its level: {"server/base": 0, …}."""
    text = pathlib.Path(__file__).with_name("check_layers.sh").read_text(encoding="utf-8")
    levels = {}
    for name, program in (("level", "server"), ("harness_level", "loadtest")):
        table = re.search(rf"declare -A {name}=\((.*?)\n\)", text, re.DOTALL).group(1)
        levels.update({f"{program}/{room}": int(level) for room, level in re.findall(r"\[([\w/]+)\]=(\d+)", table)})
    return levels


def find_room(source, levels):
    """The innermost folder of the source that is a room."""
    folders = (str(folder) for folder in pathlib.PurePosixPath(source).parents)
    return next((folder for folder in folders if folder in levels), None)


def find_upward(calls, levels):
    """Calls into a room that does not stand to the right: a complaint each."""
    for source, needs in sorted(calls.items()):
        room = find_room(source, levels)
        for other, name in needs.items():
            called = find_room(other, levels)
            if None not in (room, called) and called != room and levels[called] >= levels[room]:
                if room.split("/")[0] == called.split("/")[0]:
                    yield f"{source} needs {name} of {other}, which does not stand to its right"


def main():
    """Prints what is wrong and exits with status 1 if there is something."""
    here = pathlib.Path(__file__).resolve().parent.parent.parent
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else here
    sources = read_sources(root)
    if not sources:
        sys.exit(f"no sources under {root}: nothing was checked")
    wrong = list(find_namesakes(sources))
    wrong += [f"they include each other: {' '.join(circle)}" for circle in find_circles(build_graph(sources))]
    if len(sys.argv) > 2:
        symbols = read_symbols(pathlib.Path(sys.argv[2]).resolve())
        calls = read_calls(symbols)
        if not calls:
            sys.exit(f"no objects in {sys.argv[2]}: nothing was checked")
        wrong += list(find_upward(calls, read_levels()))
        wrong += [f"they call each other: {' '.join(circle)}" for circle in find_circles(calls)]
        wrong += list(find_uncalled(symbols))
    for complaint in wrong:
        print(complaint, file=sys.stderr)
    print(f"{len(sources)} files, {len(wrong)} names and circles that should not be")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
