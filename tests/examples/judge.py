#!/usr/bin/env python3
"""judge.py TARGET.yaml kept|BROKEN: buys at a shop of examples/ and counts, as its target file says.

A second reader of such files, which knows only what those of examples/ have, so that a shop is not judged by the
harness alone. 250 buyers want 100 units, sixteen at a time, of whom every tenth asks twice with one key. BROKEN: more
is sold than there was, or what is left and what is sold are not what there was. Anything else that is wrong (an answer
that no rule takes, a buyer who was told "sold" and has no order, two orders for one key) fails in either case.
"""
import concurrent.futures
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse

import yaml

BUYERS, AT_ONCE, PATIENCE_S, POLL_S = 250, 16, 60, 0.05
here = threading.local()


def fill(text, fields):
    return re.sub(r"\{(\w+)\}", lambda match: str(fields[match[1]]), text)


def call(target, request, fields):
    """(status, JSON) of one request, on this thread's connection."""
    if not hasattr(here, "connection"):
        here.connection = http.client.HTTPConnection(urllib.parse.urlsplit(target["server"]).netloc, timeout=PATIENCE_S)
    headers = {name: fill(value, fields) for name, value in request.get("headers", {}).items()}
    body = fill(request["body"], fields) if "body" in request else None
    here.connection.request(request.get("method", "GET"), fill(request["path"], fields), body, headers)
    answer = here.connection.getresponse()
    return answer.status, json.loads(answer.read())


def at(answer, pointer):
    return answer.get(pointer[1:]) if isinstance(answer, dict) else None


def meaning(rules, status, answer):
    """(word, the order's id) by the first rule that takes the answer."""
    for rule in rules:
        word = next(name for name in rule if name != "order")
        wanted = rule[word]
        if wanted.get("status", status) == status and all(at(answer, p) == v for p, v in wanted.get("json", {}).items()):
            return word, at(answer, rule["order"]) if "order" in rule else None
    raise AssertionError(f"no rule takes {status} {answer}")


def buy(target, user):
    fields = {"product": target["product"], "user": user, "key": f"key-{user}"}
    for step in target.get("before", []):
        status, answer = call(target, step, fields)
        assert status == 200, f"a step was answered with {status}"
        fields.update({name: at(answer, pointer) for name, pointer in step["take"].items()})
    said = []
    for _ in range(2 if user % 10 == 0 else 1):
        word, order = meaning(target["outcome"], *call(target, target["request"], fields))
        end = time.monotonic() + PATIENCE_S
        while word == "accepted":
            assert time.monotonic() < end, f"order {order} is never decided"
            time.sleep(POLL_S)
            word, _ = meaning(target["poll"]["outcome"], *call(target, target["poll"], {**fields, "order": order}))
        said.append((word, order))
    return user, said


def query(target, way):
    """What SQL or a command prints, as JSON; None where it prints nothing."""
    fields = {"product": target["product"], "stock": target["stock"]}
    if "sql" in way:
        sql = fill(way["sql"], fields).strip()
        if sql.startswith("SELECT"):
            sql = f"SELECT coalesce(json_agg(to_json(row)), '[]') FROM ({sql}) row"
        command = ["psql", "-XtA", "-v", "ON_ERROR_STOP=1", "-c", sql, target["database"]]
    else:
        command = ["sh", "-c", way["command"]]
    environment = {**os.environ, "PRODUCT": str(fields["product"]), "STOCK": str(fields["stock"])}
    printed = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = json.loads(printed) if printed.strip().startswith(("[", "{")) or printed.strip().lstrip("-").isdigit() else None
    return [list(row.values()) if isinstance(row, dict) else row for row in rows] if isinstance(rows, list) else rows


def settle(target):
    end = time.monotonic() + PATIENCE_S
    while "quiet" in target and query(target, target["quiet"]) != 1:
        assert time.monotonic() < end, "it is never quiet"
        time.sleep(POLL_S)


def main():
    path, expected = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"\$\{(\w+)\}", lambda m: os.environ[m[1]], re.sub(r"(?m)^#.*", "", file.read()))
    target = yaml.safe_load(text)
    query(target, target["reset"])
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as crowd:
        answers = dict(crowd.map(lambda user: buy(target, user), range(1, BUYERS + 1)))
    settle(target)
    left = query(target, target["audit"]["stock"])
    left = left[0][0] if isinstance(left, list) else left
    orders = query(target, target["audit"]["orders"])
    told = {user for user, said in answers.items() if any(word == "sold" for word, _ in said)}
    assert told <= {user for _, user, _ in orders}, "who was told \"sold\" has no order"
    assert len({user for _, user, _ in orders}) == len(orders), "somebody has two orders"
    sold = sum(units for _, _, units in orders)
    verdict = "BROKEN" if sold > target["stock"] or sold + left != target["stock"] else "kept"
    print(f"{target['name']}: {sold} of {target['stock']} sold, {left} left: {verdict}")
    if verdict != expected:
        sys.exit(f"expected {expected}")


main()
