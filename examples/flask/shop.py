#!/usr/bin/env python3
"""A flash sale in Flask on PostgreSQL: what a small shop has, and no more.

POST /buy {"product": 1, "user": 42}, with an Idempotency-Key: 201 {"id"} sold, 200 the same order again,
409 {"code": "sold_out" | "bought_already"}. One unit a user.

It cannot oversell: the stock is taken by one UPDATE that has the condition in it, in the order's own transaction.
SHOP_UNSAFE=1 takes that out: it reads the stock, goes away for a moment, as a shop does that asks somebody for a
price or for a payment, and writes what it has worked out. Who reads meanwhile sells the same unit.
"""
import os
import queue
import time

import psycopg2
from flask import Flask, jsonify, request
from werkzeug.serving import WSGIRequestHandler, make_server

SCHEMA = """
CREATE TABLE IF NOT EXISTS shop_product (id bigint PRIMARY KEY, stock int NOT NULL);
CREATE TABLE IF NOT EXISTS shop_order (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, product_id bigint NOT NULL REFERENCES shop_product,
    user_id bigint NOT NULL, key text NOT NULL, UNIQUE (user_id, key), UNIQUE (product_id, user_id));
INSERT INTO shop_product VALUES (1, 100) ON CONFLICT DO NOTHING;
"""
SESSIONS = 16
MOMENT_S = 0.05

app = Flask(__name__)
sessions = queue.Queue()


def take_stock(cursor, product):
    """True: a unit is this order's."""
    cursor.execute("UPDATE shop_product SET stock = stock - 1 WHERE id = %s AND stock >= 1", (product,))
    return cursor.rowcount == 1


def take_stock_unsafely(cursor, product):
    cursor.execute("SELECT stock FROM shop_product WHERE id = %s", (product,))
    row = cursor.fetchone()
    if row is None or row[0] < 1:
        return False
    time.sleep(MOMENT_S)
    cursor.execute("UPDATE shop_product SET stock = %s WHERE id = %s", (row[0] - 1, product))
    return True


def find_order(cursor, user, key):
    cursor.execute("SELECT id FROM shop_order WHERE user_id = %s AND key = %s", (user, key))
    return cursor.fetchone()


def sell(session, product, user, key):
    """One transaction: (status, answer). A "no" is said only when the key has no order: it may be a repeat's."""
    take = take_stock_unsafely if os.environ.get("SHOP_UNSAFE") else take_stock
    with session, session.cursor() as cursor:
        code = "sold_out"
        if not find_order(cursor, user, key) and take(cursor, product):
            cursor.execute("INSERT INTO shop_order (product_id, user_id, key) VALUES (%s, %s, %s)"
                           " ON CONFLICT DO NOTHING RETURNING id", (product, user, key))
            row = cursor.fetchone()
            if row:
                return 201, {"id": row[0]}
            session.rollback()  # the unit goes back
            code = "bought_already"
        row = find_order(cursor, user, key)
        return (200, {"id": row[0]}) if row else (409, {"code": code})


@app.post("/buy")
def buy():
    wish = request.get_json(force=True)
    session = sessions.get()  # waits for one: no more than SESSIONS are at work
    try:
        status, answer = sell(session, wish["product"], wish["user"], request.headers["Idempotency-Key"])
    finally:
        sessions.put(session)
    return jsonify(answer), status


class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"  # keep-alive
    disable_nagle_algorithm = True

    def log_request(self, *_):
        """No line for each order."""


def main():
    for _ in range(SESSIONS):
        sessions.put(psycopg2.connect(os.environ["SHOP_DATABASE"]))
    session = sessions.get()
    with session, session.cursor() as cursor:
        cursor.execute(SCHEMA)
    sessions.put(session)
    server = make_server("127.0.0.1", int(os.environ.get("SHOP_PORT", "0")), app, threaded=True, request_handler=Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
