#!/usr/bin/env python3
"""The dashboard and the alert rules, asked of a real Prometheus that scrapes a real server under a little load.

    test_monitoring.py SERVER PROMETHEUS CHECKOUT

Every query of the dashboard must be answered with data, every series that a rule names must exist, no rule may fire
while all is well. SECKILL_TEST_DATABASE, _REDIS, _STOCK_REDIS and _AMQP say where the backends are. Prometheus has
ops/prometheus/prometheus.yml with other targets and intervals, and a folder that is thrown away.
"""
import http.client
import itertools
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

SERVER, PROMETHEUS, CHECKOUT = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
PATIENCE_S = 60
EVERY_MS = 1000
SCRAPES = 6
# Neither, a writer, a lock. A product each: what another strategy sells makes redis-stock's figure wrong, for its alert.
LOAD = {"conditional": 7_000_024, "redis-stock": 7_000_025, "redis-fenced": 7_000_026}
SELECTOR = re.compile(r"\b(?:seckill_\w+|process_\w+|up)\b(?:\{[^}]*\})?")


def grafana_would_ask(expression):
    for macro, value in (("$__rate_interval", "10s"), ("$__range", "1m"), ("$job", "seckill"),
                         ("$instance", ".*")):
        expression = expression.replace(macro, value)
    return expression


def ask(port, method, target, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request(method, target, body=body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or "null")
    finally:
        connection.close()


class Server:
    def __init__(self):
        flags = {"--database": "SECKILL_TEST_DATABASE", "--redis": "SECKILL_TEST_REDIS",
                 "--stock-redis": "SECKILL_TEST_STOCK_REDIS", "--amqp": "SECKILL_TEST_AMQP"}
        command = [SERVER, "--listen", "127.0.0.1:0", "--system-name", "monitored"]
        for flag, variable in flags.items():
            if variable in os.environ:
                command += [flag, os.environ[variable]]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("listening on http://"), f"the server does not start: {line!r}"
        self.port = int(line.rsplit(":", 1)[1])
        end = time.monotonic() + PATIENCE_S
        while ask(self.port, "GET", "/readyz")[0] != 200:
            assert time.monotonic() < end, "the server is not ready"
            time.sleep(0.1)

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()


class Prometheus:
    def __init__(self, folder, target):
        rules = CHECKOUT / "ops/prometheus/alerts.yml"
        config = (CHECKOUT / "ops/prometheus/prometheus.yml").read_text(encoding="utf-8")
        config = re.sub(r"targets: \[.*\]", f'targets: ["127.0.0.1:{target}"]', config)
        config = re.sub(r"_interval: \w+", f"_interval: {EVERY_MS}ms", config).replace("- alerts.yml", f"- {rules}")
        (folder / "prometheus.yml").write_text(config, encoding="utf-8")
        # It does not tell which port it took: it is asked on one that was free.
        with open(folder / "log", "w", encoding="utf-8") as log:
            self.port = free_port()
            self.process = subprocess.Popen(
                [PROMETHEUS, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log)
        self.log = folder / "log"

    def get(self, path, **query):
        status, answer = ask(self.port, "GET", f"/api/v1/{path}?{urllib.parse.urlencode(query)}")
        assert status == 200 and answer["status"] == "success", f"{path} {query}: {answer}"
        return answer["data"]

    def query(self, expression):
        return self.get("query", query=expression)["result"]

    def answers(self, expression):
        """With data; on a busy machine a scrape may come too late, and the next one not."""
        end = time.monotonic() + PATIENCE_S
        while not (result := self.query(expression)) and time.monotonic() < end:
            time.sleep(EVERY_MS / 1000)
        return bool(result)

    def has_scraped(self, times):
        assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
        try:
            counted = self.query('count_over_time(seckill_lane_waiting{strategy="redis-fenced"}[1m])')
        except (OSError, ValueError):   # it does not listen yet, or answers that it is not ready
            return False
        return bool(counted) and int(counted[0]["value"][1]) >= times

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)


def free_port():
    """Below the range from which the kernel gives ports: nobody else gets it in the meantime."""
    while True:
        port = random.randrange(10000, 20000)
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) != 0:
                return port


def wait_until(what, is_true):
    end = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < end, f"in vain: {what}"
        time.sleep(0.1)


class Buyer(threading.Thread):
    """Orders one after the other, a pause between, until it is told to end."""

    def __init__(self, port):
        super().__init__()
        self.port, self.ended, self.statuses = port, threading.Event(), set()

    def run(self):
        for user, (strategy, product) in zip(itertools.count(1), itertools.cycle(LOAD.items())):
            if self.ended.wait(0.02):
                return
            status, _ = ask(self.port, "POST", f"/orders?strategy={strategy}",
                            json.dumps({"product_id": product, "user_id": user}))
            self.statuses.add(status)

    def stop(self):
        self.ended.set()
        self.join(PATIENCE_S)


class Monitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        server = Server()
        cls.addClassCleanup(server.stop)
        for product in LOAD.values():
            ask(server.port, "PUT", f"/products/{product}", '{"stock": 1000000}')
        cls.buyer = Buyer(server.port)
        cls.buyer.start()
        cls.addClassCleanup(cls.buyer.stop)
        cls.prometheus = Prometheus(pathlib.Path(folder.name), server.port)
        cls.addClassCleanup(cls.prometheus.stop)
        wait_until("scrapes", lambda: cls.prometheus.has_scraped(SCRAPES))
        dashboard = (CHECKOUT / "ops/grafana/dashboards/seckill.json").read_text(encoding="utf-8")
        cls.dashboard = json.loads(dashboard)
        cls.panels = [panel for panel in cls.dashboard["panels"] if panel["type"] != "row"]

    def exists(self, selector):
        """A broker's series are a server's with a broker alone."""
        if "republished" in selector and "SECKILL_TEST_AMQP" not in os.environ:
            return True
        return self.prometheus.answers(selector)

    def test_the_load_is_sold(self):
        self.assertLessEqual(self.buyer.statuses, {201, 202})

    def test_every_query_of_the_dashboard_has_data(self):
        self.assertGreater(len(self.panels), 20)
        for panel in self.panels:
            for target in panel["targets"]:
                asked = grafana_would_ask(target["expr"])
                with self.subTest(panel=panel["title"], query=asked):
                    self.assertNotIn("$", asked)
                    for selector in SELECTOR.findall(asked):
                        self.assertTrue(self.exists(selector), selector)
                    if "republished" not in asked or "SECKILL_TEST_AMQP" in os.environ:
                        self.assertTrue(self.prometheus.answers(asked))

    def test_every_panel_is_finished(self):
        ids = [panel["id"] for panel in self.dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        variables = {variable["name"]: variable for variable in self.dashboard["templating"]["list"]}
        self.assertEqual(variables["datasource"]["type"], "datasource")
        taken = set()
        for panel in self.dashboard["panels"]:
            at = panel["gridPos"]
            cells = set(itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])))
            self.assertFalse(cells & taken, f"{panel['title']} covers another panel")
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            taken |= cells
        for panel in self.panels:
            with self.subTest(panel=panel["title"]):
                self.assertTrue(panel["fieldConfig"]["defaults"]["unit"])
                for target in panel["targets"]:
                    self.assertTrue(target["legendFormat"])
                    self.assertEqual(target["datasource"]["uid"], "${datasource}")

    def test_every_series_of_a_rule_exists_and_none_fires(self):
        rules = [rule for group in self.prometheus.get("rules")["groups"] for rule in group["rules"]]
        written = (CHECKOUT / "ops/prometheus/alerts.yml").read_text(encoding="utf-8")
        self.assertEqual(len(rules), written.count("- alert:"))
        for rule in rules:
            with self.subTest(rule=rule["name"]):
                self.assertEqual(rule["health"], "ok", rule)
                self.assertNotEqual(rule["state"], "firing", rule)
                for selector in SELECTOR.findall(rule["query"]):
                    self.assertTrue(self.exists(selector), selector)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
