#!/usr/bin/env python3
"""The articles' ways, on the articles' database: a stock table in MariaDB, and a server in Flask.

POST /buy {"product": 1, "user": 42}, with an Idempotency-Key: 201 {"id"} sold, 200 the same order again,
409 {"code": "sold_out" | "bought_already"}, 503 {"code": "busy"}: nothing was done. One unit a user.

SHOP_WAY says how the stock is taken, and SHOP_UNSAFE=1 what is left out of it:

  way          with its protection                         without
  pessimistic  SELECT … FOR UPDATE, then the write         the same SELECT without FOR UPDATE
  optimistic   the write asks for the version it has read  it does not ask
  short        one UPDATE … WHERE stock >= 1               read first, then UPDATE without the WHERE
  redis-lock   own lock only is deleted; a guarded write   the articles' lock: its DEL deletes whoever's lock it is

Each order is away for a moment between reading and writing. Under the Redis lock every tenth stands still for longer
than the lock lasts, as a process does that collects its garbage or is moved to another host; the articles' DEL is
harmless as long as nobody does.

READ COMMITTED, as such shops run it. With REPEATABLE READ a second try in the same transaction would read the first
one's figures for ever, and MariaDB 11.6 and later would refuse the write instead of losing the other one.
"""
import itertools
import os
import queue
import random
import secrets
import time

import pymysql
import redis
from flask import Flask, jsonify, request
from werkzeug.serving import WSGIRequestHandler, make_server

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS stock (product_id BIGINT PRIMARY KEY, stock INT NOT NULL, version INT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, product_id BIGINT NOT NULL,"
    " user_id BIGINT NOT NULL, idempotency_key VARCHAR(64) NOT NULL,"
    " UNIQUE (user_id, idempotency_key), UNIQUE (product_id, user_id))",
    "INSERT IGNORE INTO stock VALUES (1, 100, 1)",
)
SESSIONS = 16
MOMENT_S = 0.05 if os.environ.get("SHOP_UNSAFE") else 0.005  # a wide window, so that the loss is certain
WAIT_S = 10
LOCK_MS = 100
STALL_S = 0.3
DELETE_OWN = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

app = Flask(__name__)
sessions = queue.Queue()
way = os.environ.get("SHOP_WAY") or "pessimistic"
unsafe = bool(os.environ.get("SHOP_UNSAFE"))
passage = itertools.count(1)


class Busy(Exception):
    """Nothing was done."""


class Gone(Exception):
    """Nothing is left."""


def read(cursor, product, ending=""):
    cursor.execute("SELECT stock, version FROM stock WHERE product_id = %s" + ending, (product,))
    row = cursor.fetchone()
    if row is None or row[0] < 1:
        raise Gone
    return row


def take_pessimistic(cursor, product):
    stock, _ = read(cursor, product, "" if unsafe else " FOR UPDATE")
    time.sleep(MOMENT_S)
    cursor.execute("UPDATE stock SET stock = %s WHERE product_id = %s", (stock - 1, product))


def take_optimistic(cursor, product):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        stock, version = read(cursor, product)
        time.sleep(MOMENT_S)
        condition, values = ("", ()) if unsafe else (" AND version = %s", (version,))
        if cursor.execute("UPDATE stock SET stock = %s, version = version + 1 WHERE product_id = %s" + condition,
                          (stock - 1, product) + values) == 1:
            return
        cursor.connection.rollback()
        time.sleep(random.uniform(0, 4 * MOMENT_S))
    raise Busy


def take_short(cursor, product):
    condition = " AND stock >= 1"
    if unsafe:
        condition = ""
        read(cursor, product)
        time.sleep(4 * MOMENT_S)  # only those who meet at the last unit are too many
    if cursor.execute("UPDATE stock SET stock = stock - 1 WHERE product_id = %s" + condition, (product,)) != 1:
        raise Gone


def take_locked(cursor, product):
    """Under the lock. The stock is read, and the order stands still once in a while."""
    stock, _ = read(cursor, product)
    time.sleep(MOMENT_S if next(passage) % 10 else STALL_S)
    if unsafe:
        cursor.execute("UPDATE stock SET stock = %s WHERE product_id = %s", (stock - 1, product))
    elif cursor.execute("UPDATE stock SET stock = stock - 1 WHERE product_id = %s AND stock >= 1", (product,)) != 1:
        raise Gone


TAKES = {"pessimistic": take_pessimistic, "optimistic": take_optimistic, "short": take_short,
         "redis-lock": take_locked}


def find_order(cursor, user, key):
    cursor.execute("SELECT id FROM orders WHERE user_id = %s AND idempotency_key = %s", (user, key))
    return cursor.fetchone()


def sell(session, product, user, key):
    """One transaction: (status, answer). A "no" is said only when the key has no order: it may be a repeat's."""
    code = "sold_out"
    with session.cursor() as cursor:
        row = find_order(cursor, user, key)
        if not row:
            try:
                TAKES[way](cursor, product)
                if cursor.execute("INSERT IGNORE INTO orders (product_id, user_id, idempotency_key)"
                                  " VALUES (%s, %s, %s)", (product, user, key)) == 1:
                    number = cursor.lastrowid
                    session.commit()
                    return 201, {"id": number}
                code = "bought_already"
            except Gone:
                pass
            session.rollback()
            row = find_order(cursor, user, key)
        session.rollback()
    return (200, {"id": row[0]}) if row else (409, {"code": code})


def sell_locked(session, memory, product, user, key):
    lock, token = f"lock:{product}", secrets.token_hex(16)
    end = time.monotonic() + WAIT_S
    while not memory.set(lock, token, nx=True, px=LOCK_MS):
        if time.monotonic() >= end:
            raise Busy
        time.sleep(random.uniform(0, 0.004))
    try:
        return sell(session, product, user, key)
    finally:
        if unsafe:
            memory.delete(lock)
        else:
            memory.eval(DELETE_OWN, 1, lock, token)


@app.post("/buy")
def buy():
    wish = request.get_json(force=True)
    session, memory = sessions.get()  # waits for one: no more than SESSIONS are at work
    try:
        key = request.headers["Idempotency-Key"]
        if way == "redis-lock":
            status, answer = sell_locked(session, memory, wish["product"], wish["user"], key)
        else:
            status, answer = sell(session, wish["product"], wish["user"], key)
    except (Busy, pymysql.err.OperationalError):  # a deadlock's victim, too
        session.rollback()
        status, answer = 503, {"code": "busy"}
    finally:
        sessions.put((session, memory))
    return jsonify(answer), status


class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"  # keep-alive
    disable_nagle_algorithm = True

    def log_request(self, *_):
        """No line for each order."""


def connect():
    session = pymysql.connect(unix_socket=os.environ["SHOP_MARIADB"], user="seckill", database="seckill",
                              init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    return session, redis.Redis.from_url(os.environ["SHOP_REDIS"])


def main():
    if way not in TAKES:
        raise SystemExit(f"SHOP_WAY is one of {', '.join(TAKES)}")
    session, memory = connect()
    with session.cursor() as cursor:
        for statement in SCHEMA:
            cursor.execute(statement)
    session.commit()
    sessions.put((session, memory))
    for _ in range(SESSIONS - 1):
        sessions.put(connect())
    server = make_server("127.0.0.1", int(os.environ.get("SHOP_PORT", "0")), app, threaded=True,
                         request_handler=Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
