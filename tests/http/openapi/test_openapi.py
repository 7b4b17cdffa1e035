#!/usr/bin/env python3
"""Holds a real server's answers to docs/openapi.yaml.

    test_openapi.py SERVER CHECKOUT

Every call is checked (openapi.py). At the end every documented status must have been seen, but for those in UNSEEN.
The other way round: what the schemas forbid in a request (a missing member, an unknown one, a figure out of range)
the server must refuse, and what the code knows (routes, methods, problem codes) the document must have.
"""
import base64
import copy
import hashlib
import json
import re
import signal
import sys
import time
import unittest

from openapi import METHODS, Answer, forbidden
from served import (CHECKOUT, COMPONENTS, PATIENCE_S, REDIS, SPEC, Aside, HeldRow, Server, buy, is_at_work,
                    is_blocked, listens, new_product, product_ids, sql, wait_until, wait_until_blocked)

ADMIN_TOKEN = "open-sesame"
NO_ORDER = "01900000-0000-7000-8000-000000000000"

# Documented, and not to be had from a server that is well and has these strategies.
# A page of metrics is refused when more are asked for at once than a server has connections.
UNSEEN = {("placeOrder", 202), ("cancelOrder", 202), ("getMetrics", 503)}
UNSEEN_STATUSES = {500, 504}
UNSEEN_CODES = {"internal_error", "outcome_unknown", "lease_lost"}

class Document(unittest.TestCase):
    """The document itself, and what the code says that it must have."""

    def test_objects_are_closed(self):
        for name, schema in SPEC.components["schemas"].items():
            if schema.get("type") == "object":
                self.assertIs(schema.get("additionalProperties"), False, name)
                self.assertLessEqual(set(schema.get("required", [])), set(schema["properties"]), name)

    def test_generators_can_read_it(self):
        """What OpenAPI 3.0 wants beyond JSON Schema: items with each array, and no list that is there and empty."""
        def walk(part, place):
            self.assertFalse(isinstance(part, dict) and part.get("type") == "array" and "items" not in part, place)
            for name, below in part.items() if isinstance(part, dict) else enumerate(part):
                self.assertFalse(name in ("required", "enum") and below == [], place)
                if isinstance(below, (dict, list)):
                    walk(below, f"{place}/{name}")

        walk(SPEC.components["schemas"], "schemas")

    def test_operation_ids_are_unique(self):
        ids = [operation["operationId"] for _, _, operation in SPEC.operations()]
        self.assertEqual(len(ids), len(set(ids)))

    def test_path_parameters(self):
        for path, item in SPEC.paths.items():
            named = {p["name"] for p in item.get("parameters", []) if p["in"] == "path"}
            self.assertEqual(named, set(re.findall(r"{(\w+)}", path)), path)

    def test_routes(self):
        table = (CHECKOUT / "server/api/routes.c").read_text(encoding="utf-8")
        rows = re.findall(r'{"(/[^"]*)", ROUTE_(\w+), (true|false), ', table)
        routes = {(re.sub(r"{(order|product)}", r"{\1_id}", path), method.lower()): admin == "true"
                  for path, method, admin in rows}
        documented = {(path, method): "security" in operation for path, method, operation in SPEC.operations()}
        self.assertEqual(routes, documented)

    def test_problem_codes(self):
        code = {c for c in re.findall(r'X\(\w+, "\w+", \d+, "(\w*)"',
                                      (CHECKOUT / "server/order/order.h").read_text(encoding="utf-8")) if c}
        for file in [*(CHECKOUT / "server/http").rglob("*.c"), *(CHECKOUT / "server/api").glob("*.c")]:
            text = file.read_text(encoding="utf-8")
            code |= set(re.findall(r'problem_set\([^;"]*?\d{3}, "(\w+)"', text))
            code |= set(re.findall(r'set\(problem, \d{3}, "(\w+)"', text))
        self.assertEqual(code, set(SPEC.components["schemas"]["ProblemCode"]["enum"]))

    def test_the_check_can_fail(self):
        """A body that lacks a member, or has one too many, must not pass. One object a schema, as a server sent it."""
        server = Shared.server
        product = new_product(server)
        order = buy(server, product, 201)
        answers = [("PlacedOrder", order.json), ("Timings", order.json["timings"]),
                   ("Order", server.call("getOrder", order.json["id"]).json),
                   ("Product", server.call("getProduct", product).json),
                   ("Audit", server.call("auditProduct", product).json),
                   ("Strategy", server.call("listStrategies").json[0]),
                   ("Readiness", server.call("getReadiness").json),
                   ("Problem", server.call("getProduct", 7, query={"x": 1}).json)]
        for name, value in answers:
            schema = SPEC.components["schemas"][name]
            SPEC.validate(value, schema, name)
            for member in schema.get("required", []):
                lacking = copy.deepcopy(value)
                del lacking[member]
                with self.assertRaises(AssertionError, msg=f"{name} without {member}"):
                    SPEC.validate(lacking, schema, name)
            with self.assertRaises(AssertionError, msg=f"{name} with one too many"):
                SPEC.validate({**value, "surplus": 1}, schema, name)


class Shared(unittest.TestCase):
    """Tests on the one server with PostgreSQL and Redis and no admin token."""
    server = None


class Orders(Shared):
    def test_buy_by_every_strategy(self):
        for strategy in self.server.call("listStrategies", status=200).json:
            if not strategy["available"]:  # this stack has not what it needs
                continue
            for body in strategy["bodies"] or [None]:
                query = {"strategy": strategy["name"], **({"body": body} if body else {})}
                product = new_product(self.server)
                placed = 202 if strategy["name"] == "redis-stock" else 201
                order = buy(self.server, product, placed, query=query, strategy=strategy["name"])
                self.assertEqual(order.headers["Location"], f"orders/{order.json['id']}")
                again = self.server.call("getOrder", order.json["id"], status=200)
                changing = {"timings", "status"} if placed == 202 else {"timings"}
                self.assertEqual({k: v for k, v in again.json.items() if k not in changing},
                                 {k: v for k, v in order.json.items() if k not in changing} |
                                 ({} if placed == 202 else {"status": again.json["status"]}))
                self.server.call("cancelOrder", order.json["id"], status=200)
                self.server.call("cancelOrder", order.json["id"], status=200)

    def test_replay(self):
        product = new_product(self.server)
        first = buy(self.server, product, 201, user=7, key=f"k{product}")
        again = buy(self.server, product, 200, user=7, key=f"k{product}", id=first.json["id"])
        self.assertEqual(again.headers["Idempotent-Replayed"], "true")
        buy(self.server, product, 409, user=7, key=f"k{product}", quantity=2, code="idempotency_mismatch")

    def test_refusals(self):
        buy(self.server, next(product_ids), 404, code="unknown_product")
        buy(self.server, new_product(self.server, stock=0), 409, code="sold_out")
        limited = new_product(self.server, limit_per_user=1)
        buy(self.server, limited, 201, user=5)
        buy(self.server, limited, 409, user=5, code="limit_reached")
        closed = new_product(self.server, opens_at="2020-01-01T00:00:00Z", closes_at="2021-01-01T00:00:00Z")
        buy(self.server, closed, 409, code="sale_not_open")

    def test_malformed(self):
        product = new_product(self.server)
        buy(self.server, product, 400, query={"strategy": "nope"}, code="unknown_strategy")
        buy(self.server, product, 400, query={"strategy": "conditional", "body": "plain"}, field="body")
        buy(self.server, product, 400, query={"strategy": "local-lock", "body": "x"}, field="body")
        buy(self.server, product, 400, key="x" * 256, code="invalid_header")
        for text in ("", "[]", "{", '{"product_id": 1, "user_id": 1} x', '{"user_id": 1, "user_id": 1}'):
            self.server.call("placeOrder", body=text, status=400, code="invalid_json")

    def test_too_large(self):
        blank = " " * (16 * 1024 + 1)
        product = new_product(self.server)
        self.server.call("placeOrder", body=blank, status=413)
        self.server.call("putProduct", product, body=blank, status=413)
        self.server.call("patchProduct", product, body=blank, status=413)
        self.server.call("putProducts", body=blank, status=413)
        self.server.call("restockProduct", product, body=blank, status=413)
        self.server.call("placeOrder", query={"strategy": "x" * 60000}, status=414)
        self.server.call("placeOrder", headers={"X-Long": "x" * 60000}, status=431)

    def test_not_taken(self):
        self.server.call("placeOrder", body="{}", headers={"Transfer-Encoding": "chunked"}, status=411, code="length_required")
        self.server.call("placeOrder", body="{}", headers={"Content-Encoding": "gzip"}, status=415, code="encoded_body")

    def test_list(self):
        product = new_product(self.server)
        ids = [buy(self.server, product, 201, user=3).json["id"] for _ in range(3)]
        page = self.server.call("listOrders", query={"product_id": product, "limit": 2}, status=200).json
        self.assertEqual(([o["id"] for o in page["orders"]], page["next"]), (ids[:2], ids[1]))
        page = self.server.call("listOrders", query={"user_id": 3, "product_id": product, "after": ids[1]}).json
        self.assertEqual(([o["id"] for o in page["orders"]], page["next"]), (ids[2:], None))
        self.server.call("listOrders", query={"after": "x"}, status=400, field="after")

    def test_feed(self):
        product = new_product(self.server)
        order = buy(self.server, product, 201).json
        self.server.call("cancelOrder", order["id"], status=200)
        seen, position = [], {}
        deadline = time.monotonic() + PATIENCE_S
        while ("cancelled", order["id"]) not in seen and time.monotonic() < deadline:
            page = self.server.call("followOrders", query={"limit": 1000, **position}, status=200).json
            seen += [(o["status"], o["id"]) for o in page["orders"]]
            if page["orders"]:  # those of other tests come first, however many
                deadline = time.monotonic() + PATIENCE_S
            position = {"after": page["next"]}
        self.assertEqual([s for s in seen if s[1] == order["id"]], [(s, order["id"]) for s in ("confirmed", "cancelled")])
        self.server.call("followOrders", query={"after": "x"}, status=400, field="after")
        other = {"after": ("1" if page["next"][0] == "0" else "0") + page["next"][1:]}
        self.server.call("followOrders", query=other, status=410, code="position_gone")

    def test_pay(self):
        product = new_product(self.server, limit_per_user=2)
        order = buy(self.server, product, 201, user=4, quantity=2, hold_s=600)
        self.assertEqual((order.json["status"], "hold_until" in order.json), ("pending", True))
        self.assertEqual(self.server.call("getOrder", order.json["id"]).json["hold_until"], order.json["hold_until"])
        self.server.call("auditProduct", product, held=2, sold=0, consistent=True)
        buy(self.server, product, 409, user=4, code="limit_reached")
        for _ in range(2):
            paid = self.server.call("payOrder", order.json["id"], status=200)
            self.assertEqual((paid.json["status"], "hold_until" in paid.json), ("confirmed", False))
        self.server.call("auditProduct", product, held=0, sold=2, consistent=True)
        self.server.call("cancelOrder", order.json["id"], status=200)
        self.server.call("payOrder", order.json["id"], status=409, code="not_payable")
        late = buy(self.server, product, 201, user=4, quantity=2, hold_s=600).json["id"]
        sql(f"UPDATE orders SET hold_until = now(), expire_at = now() WHERE id = '{late}'")
        self.server.call("payOrder", late, status=409, code="expired")
        wait_until("the end of a hold", lambda: self.server.call("getOrder", late).json["status"] == "expired")
        self.server.call("payOrder", late, status=409, code="expired")
        self.server.call("cancelOrder", late, status=409, code="not_cancellable")
        free = buy(self.server, product, 201, user=4, quantity=2).json["id"]
        self.server.call("payOrder", free, status=200)
        self.server.call("payOrder", NO_ORDER, status=404)

    def test_states(self):
        """A queued order and a failed one, as the strategies that make such write them."""
        product = new_product(self.server)
        row = ("INSERT INTO orders (id, product_id, epoch, user_id, quantity, strategy, status, reason, created_at)"
               " SELECT gen_random_uuid(), id, epoch, 1, 1, 'conditional', {}, {}, now() FROM product"
               f" WHERE id = {product} RETURNING id")
        # A version 7 in place of a random one's 4.
        queued, failed = (str(sql(row.format(*state))) for state in ((0, "NULL"), (3, "'sold_out'")))
        for wrong in (queued, failed):
            sql(f"UPDATE orders SET id = overlay(id::text placing '7' from 15 for 1)::uuid WHERE id = '{wrong}'")
        queued, failed = (f"{i[:14]}7{i[15:]}" for i in (queued, failed))
        shown = self.server.call("getOrder", queued, status=200).json
        self.assertEqual((shown["status"], "reason" in shown), ("queued", False))
        shown = self.server.call("getOrder", failed, status=200).json
        self.assertEqual((shown["status"], shown["reason"]), ("failed", "sold_out"))
        self.server.call("cancelOrder", failed, status=409, code="not_cancellable")
        self.server.call("getProduct", product, reserved=1)
        self.server.call("auditProduct", product, queued=1)

    def test_no_such_order(self):
        self.server.call("getOrder", NO_ORDER, status=404)
        self.server.call("cancelOrder", NO_ORDER, status=404)

    def test_waits(self):
        """On a slow machine a time may be over before a worker has come to the order: its phase is "queue" then."""
        product = new_product(self.server)

        def waits_for_a_lock():
            answer = buy(self.server, product, 503, query={"strategy": "pessimistic", "wait_ms": 1000})
            self.assertIn(answer.json["phase"], ("lock", "queue"))
            return answer.json["phase"] == "lock"

        with HeldRow(product):
            wait_until("a wait for a lock", waits_for_a_lock)
            local = {"strategy": "local-lock"}
            first = Aside(self.server, "placeOrder", query=local, body={"product_id": product, "user_id": 1})
            wait_until_blocked("WITH")
            buy(self.server, product, 503, query={**local, "wait_ms": 0}, phase="queue")
        self.assertEqual(first.answer().status, 201)

    def test_lost_race(self):
        """An order without patience makes one attempt, and its write finds that the version has changed: a trigger
        takes the write away, as somebody does who was there first. A worker may come to it too late to try."""
        product = new_product(self.server)

        def is_lost():
            answer = buy(self.server, product, 503, query={"strategy": "optimistic", "wait_ms": 0})
            self.assertIn(answer.json["code"], ("cas_exhausted", "wait_timeout"))
            return answer.json["code"] == "cas_exhausted"

        sql("CREATE FUNCTION nobody_wins() RETURNS trigger LANGUAGE plpgsql AS"
            f" 'BEGIN IF OLD.id = {product} THEN RETURN NULL; END IF; RETURN NEW; END'")
        sql("CREATE TRIGGER nobody_wins BEFORE UPDATE ON product FOR EACH ROW EXECUTE FUNCTION nobody_wins()")
        try:
            wait_until("a race that is lost", is_lost)
        finally:
            sql("DROP TRIGGER nobody_wins ON product")
            sql("DROP FUNCTION nobody_wins")


class Products(Shared):
    def test_put_and_get(self):
        product = new_product(self.server, name="红包 “x”", limit_per_user=2, opens_at="2020-01-01T08:00:00+08:00",
                              closes_at="2099-01-01T00:00:00Z")
        shown = self.server.call("getProduct", product, status=200).json
        self.assertEqual((shown["name"], shown["opens_at"]), ("红包 “x”", "2020-01-01T00:00:00.000000Z"))
        self.server.call("putProduct", product, body={"stock": 3, "name": None, "limit_per_user": 2}, status=200, name=None)
        changed = self.server.call("patchProduct", product, body={"limit_per_user": 1, "closes_at": None}, status=200)
        self.assertEqual((changed.json["stock"], changed.json["limit_per_user"]), (3, 1))
        epoch = changed.json["epoch"]
        self.server.call("patchProduct", product, body={"limit_per_user": None}, status=200)
        self.server.call("patchProduct", product, body={"limit_per_user": 1}, status=409, code="limit_not_counted")
        for status in (200, 412):
            self.server.call("putProduct", product, body={"stock": 3}, headers={"If-Match": f'"{epoch}"'}, status=status)
        self.server.call("getProduct", next(product_ids), status=404)
        self.server.call("patchProduct", next(product_ids), body={}, status=404)
        self.server.call("auditProduct", next(product_ids), status=404)

    def test_run_and_list(self):
        first = [next(product_ids) for _ in range(3)][0]
        self.server.call("putProducts", body={"first_id": first, "count": 3, "stock": 1}, status=200, count=3)
        page = self.server.call("listProducts", query={"after": first - 1, "limit": 2}, status=200).json
        self.assertEqual((len(page["products"]), page["next"]), (2, first + 1))

    def test_restock(self):
        product = new_product(self.server, stock=0)
        for strategy in self.server.call("listStrategies").json:
            query, key = {"strategy": strategy["name"]}, {"Idempotency-Key": strategy["name"]}
            self.server.call("restockProduct", product, query=query, body={"quantity": 2}, headers=key, status=200)
            again = self.server.call("restockProduct", product, query=query, body={"quantity": 2}, headers=key)
            self.assertEqual(again.headers["Idempotent-Replayed"], "true")
            self.server.call("restockProduct", product, query=query, body={"quantity": 3}, headers=key, status=409)
        self.server.call("restockProduct", next(product_ids), body={"quantity": 1}, status=404)

    def test_audit(self):
        product = new_product(self.server)
        buy(self.server, product, 201)
        self.server.call("auditProduct", product, status=200, sold=1, stock=9, consistent=True,
                         strategies=["conditional"])


class Service(Shared):
    def test_answers(self):
        self.server.call("getHealth", status=200)
        self.server.call("getReadiness", status=200, draining=False)
        self.server.call("getMetrics", status=200)
        page = self.server.call("getPage", status=200)
        for tag, source in (("style", "style-src"), ("script", "script-src")):
            text = re.search(f"<{tag}>(.*?)</{tag}>", page.text, re.DOTALL).group(1)
            hashed = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            self.assertIn(f"{source} 'sha256-{hashed}';", page.headers["Content-Security-Policy"])
        zoo = json.loads((CHECKOUT / "server/api/page/zoo.json").read_text(encoding="utf-8"))
        self.assertEqual(self.server.call("getZoo", status=200).json, zoo)
        document = (CHECKOUT / "docs/openapi.yaml").read_text(encoding="utf-8")
        self.assertEqual(self.server.call("getContract", status=200).text, document)

    @staticmethod
    def listen(server):
        """What has to be kept by one who listens, and the first event that it has heard."""
        connection = server.connect()
        connection.request("GET", "/events")
        response = connection.getresponse()
        answer = Answer.__new__(Answer)
        answer.status, answer.headers = response.status, response.headers
        answer.text = "".join(iter(lambda: response.readline().decode("utf-8"), "\n"))
        operation = next(found for _, _, found in SPEC.operations() if found["operationId"] == "listen")
        SPEC.check(answer, operation["responses"], "GET /events", "listen")
        return (connection, response), answer.text

    def test_events(self):
        server = Server("--max-connections", "16")
        try:
            heard = [self.listen(server) for _ in range(4)]
            event, data = heard[0][1].splitlines()
            self.assertEqual(event, "event: products")
            page = next(found for _, _, found in SPEC.operations() if found["operationId"] == "listProducts")
            SPEC.validate(json.loads(data.removeprefix("data: ")),
                          page["responses"]["200"]["content"]["application/json"]["schema"], "an event")
            server.call("listen", status=503, code="too_many_listeners")
        finally:
            server.stop()
        for (connection, response), _ in heard:
            response.close()
            connection.close()

    def test_statuses_are_counted(self):
        """Those that the document has, and those of every path."""
        documented = {status for _, _, operation in SPEC.operations() for status in operation["responses"]}
        counted = re.findall(r'seckill_http_responses_total{status="(\d+)"}', self.server.call("getMetrics").text)
        self.assertLessEqual(documented | {"204", "405", "411", "415"}, set(counted))

    def test_no_such_path(self):
        for path in ("/nothing", "/orders/", "/products/0", "/products/01", "/orders/x", "/strategies/none"):
            SPEC.check(self.server.ask("GET", path), {"404": SPEC.components["responses"]["NotFound"]}, path)

    def test_methods(self):
        for path, item in SPEC.paths.items():
            known = [method.upper() for method in METHODS if method in item]
            target = path.replace("{order_id}", NO_ORDER).replace("{product_id}", "1")
            for method in set(METHODS) - set(item):
                answer = self.server.ask(method, target)
                SPEC.check(answer, {"405": SPEC.components["responses"]["MethodNotAllowed"]}, f"{method} {path}")
                allowed = set(answer.headers["Allow"].split(", "))
                self.assertEqual(allowed, set(known) | ({"HEAD"} if "GET" in known else set()), path)
            if "GET" in known:
                head = self.server.ask("HEAD", target)
                self.assertIn(str(head.status), item["get"]["responses"])
                self.assertEqual(head.text, "")


class Requests(Shared):
    """What the document forbids in a request, the server refuses, naming it."""

    def setUp(self):
        self.product = new_product(self.server)

    def ids(self, path):
        return [NO_ORDER if name == "order_id" else self.product for name in re.findall(r"{(\w+)}", path)]

    def refused(self, operation, path, field, **what):
        self.server.call(operation["operationId"], *self.ids(path), status=400, field=field, **what)

    def test_bodies(self):
        for path, _, operation in SPEC.operations():
            if "requestBody" not in operation:
                continue
            media = operation["requestBody"]["content"]["application/json"]
            schema, good = media["schema"], media["example"]
            SPEC.validate(good, schema, f"the example of {path}")
            self.refused(operation, path, "surplus", body={**good, "surplus": 1})
            for member in schema.get("required", []):
                self.refused(operation, path, member, body={k: v for k, v in good.items() if k != member})
            for member, described in schema["properties"].items():
                for value in forbidden(described):
                    self.refused(operation, path, member, body={**good, member: value})

    def test_parameters(self):
        for path, _, operation in SPEC.operations():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
            if operation["operationId"] == "getPage":   # the same whatever its query
                continue
            self.refused(operation, path, "surplus", query={"surplus": 1}, body=body)
            for parameter in operation.get("parameters", []):
                if parameter["in"] != "query" or parameter["schema"]["type"] != "integer":
                    continue
                for value in forbidden(parameter["schema"]):
                    self.refused(operation, path, parameter["name"], query={parameter["name"]: value}, body=body)


class Others(unittest.TestCase):
    """Servers of another kind; each test has its own."""

    def start(self, *flags, **kwargs):
        server = Server(*flags, **kwargs)
        self.addCleanup(server.stop)
        return server

    def test_admin_by_token(self):
        server = self.start("--admin-token", ADMIN_TOKEN)
        product = next(product_ids)
        for path, _, operation in SPEC.operations():
            if "security" in operation:
                ids = [product] if "{" in path else []
                body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
                server.call(operation["operationId"], *ids, body=body, status=401)
        server.call("putProduct", product, body={"stock": 1}, status=201,
                    headers={"Authorization": f"Bearer {ADMIN_TOKEN}"})

    def test_admin_from_elsewhere(self):
        for path, _, operation in SPEC.operations():
            if "security" in operation:
                ids = [1] if "{" in path else []
                body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
                Shared.server.call(operation["operationId"], *ids, body=body, status=403,
                                   headers={"X-Forwarded-For": "127.0.0.1"})

    def test_without_redis(self):
        server = self.start()
        product = new_product(server)
        buy(server, product, 503, query={"strategy": "redis-queue"}, code="strategy_unavailable")
        server.call("restockProduct", product, query={"strategy": "redis-queue"}, body={"quantity": 1}, status=503)
        order = buy(Shared.server, product, 201, query={"strategy": "redis-queue"})
        server.call("cancelOrder", order.json["id"], status=200)  # it mixes: the row's lock is enough
        order = buy(Shared.server, product, 201, query={"strategy": "redis-token"})
        server.call("cancelOrder", order.json["id"], status=503, code="strategy_unavailable")
        rows = server.call("listStrategies").json
        absent = [r["name"] for r in rows if not r["available"]]
        self.assertIn("redis-queue", absent)
        self.assertEqual(absent, [r["name"] for r in rows if r["needs"] != ["postgresql"]])

    def test_other_cell(self):
        server = self.start("--cell", "1/2", "--redis", REDIS, "--system-name", "cell")
        server.call("getReadiness", status=200, cell="1/2")
        order = buy(server, new_product(server), 201).json["id"]
        self.assertEqual(order[24:26], "01")
        server.call("getOrder", order, status=200)
        others = order[:24] + "02" + order[26:]
        for name in ("getOrder", "cancelOrder", "payOrder"):
            server.call(name, others, status=421, code="other_cell", cell=2)
        product = next(product_ids)
        buy(server, product, 421, code="other_cell")
        server.call("getProduct", product, status=421)
        server.call("patchProduct", product, body={}, status=421)
        server.call("restockProduct", product, body={"quantity": 1}, status=421)
        server.call("auditProduct", product, status=421)

    def test_without_postgresql(self):
        server = self.start(database="host=/nonexistent dbname=none")
        server.call("getReadiness", status=503, ready=False)
        for name, *ids in (("listOrders",), ("followOrders",), ("getOrder", NO_ORDER), ("listProducts",),
                           ("getProduct", 1), ("auditProduct", 1)):
            server.call(name, *ids, status=503, code="backend_unavailable")
        server.call("cancelOrder", NO_ORDER, status=503)
        server.call("payOrder", NO_ORDER, status=503)
        server.call("putProduct", 1, body={"stock": 1}, status=503)
        server.call("patchProduct", 1, body={"name": "x"}, status=503)
        server.call("putProducts", body={"first_id": 1, "count": 1, "stock": 1}, status=503)
        buy(server, 1, 503, code="backend_unavailable")

    def test_full_queue(self):
        """Its worker is held by itself: one that waits for a row comes back to the queue twice a second."""
        server = self.start("--queue-capacity", "1", failpoints="body.after-read=hold")
        product = new_product(server)
        body, query = {"product_id": product, "user_id": 1}, {"strategy": "local-lock"}
        waiting = 'seckill_lane_waiting{strategy="local-lock"} 1'
        orders = [Aside(server, "placeOrder", query=query, body=body)]
        wait_until("an order that is worked on", is_at_work)
        orders.append(Aside(server, "placeOrder", query=query, body=body))
        wait_until("an order in the lane", lambda: waiting in server.call("getMetrics").text)
        buy(server, product, 503, query=query, code="queue_full")
        server.process.send_signal(signal.SIGUSR1)  # lets go
        for order in orders:
            self.assertEqual(order.answer().status, 201)

    def test_stop(self):
        """What was accepted is answered; what comes on an open connection after the signal is turned away."""
        server = Server()
        product = new_product(server)
        second = server.connect()
        server.call("getHealth", connection=second)
        third = server.connect()
        server.call("getHealth", connection=third)
        with HeldRow(product):
            first = Aside(server, "placeOrder", query={"strategy": "pessimistic"},
                          body={"product_id": product, "user_id": 1})
            wait_until_blocked("SELECT")
            server.process.send_signal(signal.SIGTERM)
            wait_until("the listening socket to close", lambda: not listens(server.port))
            server.call("getReadiness", connection=second, status=503, draining=True)
            server.call("placeOrder", connection=third, body={"product_id": product, "user_id": 1}, status=503,
                        code="shutting_down")
        self.assertEqual(first.answer().status, 201)
        self.assertEqual(server.process.wait(PATIENCE_S), 0)
        server.process.stdout.close()


def unseen():
    """What is documented and no test has met."""
    for path, method, operation in SPEC.operations():
        for status in map(int, operation["responses"]):
            met = (operation["operationId"], status)
            if met not in SPEC.seen and met not in UNSEEN and status not in UNSEEN_STATUSES:
                yield f"{method.upper()} {path} has never answered {status}"
    for code in sorted(set(SPEC.components["schemas"]["ProblemCode"]["enum"]) - SPEC.codes - UNSEEN_CODES):
        yield f"no answer had the code {code}"


def main():
    Shared.server = Server("--redis", REDIS, *COMPONENTS)
    try:
        result = unittest.main(argv=sys.argv[:1], exit=False).result
    finally:
        Shared.server.stop()
    missing = list(unseen()) if result.wasSuccessful() else []
    for line in missing:
        print(line, file=sys.stderr)
    sys.exit(0 if result.wasSuccessful() and not missing else 1)


if __name__ == "__main__":
    main()
