#!/usr/bin/env python3
"""What the recipes beside this file have around them: HTTP, sessions with PostgreSQL and Redis, the tables.

SHOP_WAY names the recipe; with SHOP_UNSAFE=1 it is the mistake of that name, from ../mistakes.

  PUT /products/1 {"stock": 100}         a new sale; the orders of the last one are gone
  POST /orders {"product": 1, "user": 42}, with an Idempotency-Key
      201 sold, 200 sold before to the same key, 202 accepted: each {"id"}
      409 {"code": "sold_out" | "bought_already"}, 503 {"code": "busy"}: nothing was done
  GET /orders/ID                         200 {"status": "confirmed" | "failed"}, 202 not decided yet
  GET /quiet                             1: no accepted order is waiting

A recipe is a module with buy(pg, memory, order), which answers (word, id of the order or None), and, where it wants
them, start(connect, memory), put(memory, product, stock), status(pg, memory, id) and quiet(memory).
"""
import importlib
import json
import os
import pathlib
import queue
import re
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg2
import redis

SCHEMA = """
CREATE TABLE IF NOT EXISTS product (id bigint PRIMARY KEY, stock int NOT NULL, version int NOT NULL DEFAULT 1);
CREATE TABLE IF NOT EXISTS orders (
    id uuid PRIMARY KEY, product_id bigint NOT NULL REFERENCES product, user_id bigint NOT NULL, key text NOT NULL,
    UNIQUE (user_id, key), UNIQUE (product_id, user_id));
"""
SESSIONS = 16
STATUS = {"sold": 201, "again": 200, "accepted": 202, "busy": 503}  # any other word is a "no": 409

sessions = queue.Queue()
recipe = None


def connect():
    return psycopg2.connect(os.environ["SHOP_DATABASE"])


def put_product(pg, memory, product, stock):
    with pg, pg.cursor() as cursor:
        cursor.execute("DELETE FROM orders WHERE product_id = %s", (product,))
        cursor.execute("INSERT INTO product (id, stock) VALUES (%(id)s, %(stock)s)"
                       " ON CONFLICT (id) DO UPDATE SET stock = %(stock)s, version = product.version + 1",
                       {"id": product, "stock": stock})
    if hasattr(recipe, "put"):
        recipe.put(memory, product, stock)
    return 200, {"stock": stock}


def buy(pg, memory, product, user, key):
    order = {"id": str(uuid.uuid4()), "product": product, "user": user, "key": key}
    word, number = recipe.buy(pg, memory, order)
    return STATUS.get(word, 409), {"id": number} if number else {"code": word}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keep-alive
    disable_nagle_algorithm = True

    def answer(self, method):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
        pg, memory = sessions.get()  # waits for one: no more than SESSIONS are at work
        try:
            status, said = self.route(pg, memory, method, body)
            pg.rollback()  # nothing stays open after a look
        except Exception as error:
            print(f"{method} {self.path}: {error!r}", file=sys.stderr)
            pg.close()
            pg = connect()
            status, said = 500, {"code": "unknown"}
        finally:
            sessions.put((pg, memory))
        text = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def route(self, pg, memory, method, body):
        named = re.fullmatch(r"/(products|orders)/([0-9a-f-]+)", self.path)
        if method == "POST" and self.path == "/orders":
            return buy(pg, memory, body["product"], body["user"], self.headers["Idempotency-Key"])
        if method == "PUT" and named and named[1] == "products":
            return put_product(pg, memory, int(named[2]), body["stock"])
        if method == "GET" and named and named[1] == "orders" and hasattr(recipe, "status"):
            word = recipe.status(pg, memory, named[2])
            return (200 if word else 202), {"status": word or "waiting"}
        if method == "GET" and self.path == "/quiet":
            return 200, int(recipe.quiet(memory)) if hasattr(recipe, "quiet") else 1
        return 404, {"code": "no such address"}

    def do_POST(self):
        self.answer("POST")

    def do_PUT(self):
        self.answer("PUT")

    def do_GET(self):
        self.answer("GET")

    def log_message(self, *_):
        """No line for each order."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main():
    global recipe
    here = pathlib.Path(__file__).resolve().parent
    sys.path[:0] = [str(here.parent / "mistakes" if os.environ.get("SHOP_UNSAFE") else here), str(here)]
    recipe = importlib.import_module((os.environ.get("SHOP_WAY") or "conditional").replace("-", "_"))
    for _ in range(SESSIONS):
        sessions.put((connect(), redis.Redis.from_url(os.environ["SHOP_REDIS"], decode_responses=True)))
    pg, memory = sessions.get()
    with pg, pg.cursor() as cursor:
        cursor.execute(SCHEMA)
    put_product(pg, memory, 1, 100)
    if hasattr(recipe, "start"):
        recipe.start(connect, redis.Redis.from_url(os.environ["SHOP_REDIS"], decode_responses=True))
    sessions.put((pg, memory))
    server = Server(("127.0.0.1", int(os.environ.get("SHOP_PORT", "0"))), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
