"""Real servers of our own, calls to them that are checked against the document, and PostgreSQL beside them.

The command line is the test's: SERVER CHECKOUT. SECKILL_TEST_DATABASE and SECKILL_TEST_REDIS say where the backends
are.
"""
import http.client
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

from openapi import Answer, Spec

PATIENCE_S = 30
SERVER, CHECKOUT = sys.argv[1], pathlib.Path(sys.argv[2])
DATABASE, REDIS = os.environ["SECKILL_TEST_DATABASE"], os.environ["SECKILL_TEST_REDIS"]
# --redlock and the like, as far as this stack has what they name.
COMPONENTS = [f"--{name}={os.environ[variable]}" for name in ("redlock", "memcached", "zookeeper", "amqp")
              if (variable := f"SECKILL_TEST_{name.upper()}") in os.environ]
SPEC = Spec(CHECKOUT / "docs/openapi.yaml")


# No test of ours waits for these: they are for a machine on which everything takes long.
PATIENT = ["--lock-wait-ms", "20000", "--work-timeout-ms", "20000", "--lock-ttl-ms", "40000"]


class Server:
    """A server of our own on a free port; `stop` wants exit status 0. `failpoints`: base/failpoint.h."""

    def __init__(self, *flags, database=None, failpoints=""):
        self.process = subprocess.Popen(
            [SERVER, "--listen", "127.0.0.1:0", "--database", database or DATABASE, *PATIENT, *flags],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "SECKILL_FAILPOINTS": failpoints})
        line = self.process.stdout.readline()
        assert line.startswith("listening on http://"), f"the server does not start: {line!r}"
        self.port = int(line.rsplit(":", 1)[1])

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

    def ask(self, method, target, body=None, headers=None, connection=None):
        kept = connection or self.connect()
        kept.request(method.upper(), target, body=body, headers=headers or {})
        answer = Answer(kept.getresponse())
        if not connection:
            kept.close()
        return answer

    def call(self, operation_id, *ids, query=None, body=None, headers=None, connection=None, **expected):
        """Makes a documented call, checks its answer against the document and against `expected`."""
        path, method, operation = next(found for found in SPEC.operations() if found[2]["operationId"] == operation_id)
        where = f"{method.upper()} {path} {query or ''} {body if body is not None else ''}"
        target = path
        for value in ids:
            target = re.sub(r"{\w+}", str(value), target, count=1)
        if query:
            target += "?" + urllib.parse.urlencode(query)
        text = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        answer = self.ask(method, target, text, headers, connection)
        SPEC.check(answer, operation["responses"], where, operation_id)
        for name, value in expected.items():
            got = answer.status if name == "status" else answer.json.get(name)
            assert got == value, f"{where}: {name} is {got}, not {value}: {answer.text[:300]}"
        return answer

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        assert code == 0, f"the server ended with {code}"


def sql(text):
    done = subprocess.run(["psql", "-X", "-q", "-tA", "-v", "ON_ERROR_STOP=1", "-d", DATABASE, "-c", text],
                          check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    return done.stdout.strip()


def wait_until(what, is_true):
    end = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < end, f"in vain: {what}"
        time.sleep(0.01)


def is_blocked(command):
    """Does a statement of a server of ours that begins with `command` wait for a row?"""
    return sql("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND"
               f" application_name = 'seckill' AND wait_event_type = 'Lock' AND query LIKE '{command} %'") != "0"


def is_at_work():
    """Has a server of ours read, and not yet written?"""
    return sql("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND"
               " application_name = 'seckill' AND state = 'idle in transaction'") != "0"


def wait_until_blocked(command):
    wait_until(f"{command} that waits for a row", lambda: is_blocked(command))


class HeldRow:
    """A product's row in the hands of a transaction of ours, until the end of the `with`."""

    def __init__(self, product, statement="SELECT 1 FROM product WHERE id = {} FOR UPDATE", end="ROLLBACK"):
        self.statement = statement.format(product)
        self.last = end

    def __enter__(self):
        self.process = subprocess.Popen(["psql", "-X", "-q", "-tA", "-v", "ON_ERROR_STOP=1", "-d", DATABASE],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(f"BEGIN;\n{self.statement};\n\\echo held\n")
        self.process.stdin.flush()
        while (line := self.process.stdout.readline()) and line != "held\n":
            pass
        assert line, "psql has not got the row"
        return self

    def __exit__(self, *_):
        self.process.communicate(f"{self.last};\n", timeout=PATIENCE_S)


class Aside:
    """A call on a thread of its own; `answer` waits for it."""

    def __init__(self, *args, **kwargs):
        self.result = None
        self.thread = threading.Thread(target=self.run, args=args, kwargs=kwargs)
        self.thread.start()

    def run(self, server, *args, **kwargs):
        try:
            self.result = server.call(*args, **kwargs)
        except Exception as error:  # told by answer(), on the test's own thread
            self.result = error

    def answer(self):
        self.thread.join(PATIENCE_S)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def listens(port):
    try:
        http.client.HTTPConnection("127.0.0.1", port, timeout=1).connect()
        return True
    except OSError:
        return False


product_ids = itertools.count(int(time.time()) * 1000)
user_ids = itertools.count(1)


def new_product(server, **members):
    product = next(product_ids)
    server.call("putProduct", product, body={"stock": 10, **members}, status=201)
    return product


def buy(server, product, status, user=None, quantity=1, key=None, query=None, hold_s=None, **expected):
    hold = {} if hold_s is None else {"hold_s": hold_s}
    return server.call("placeOrder", query=query, status=status, **expected,
                       body={"product_id": product, "user_id": user or next(user_ids), "quantity": quantity, **hold},
                       headers={"Idempotency-Key": key} if key else None)
