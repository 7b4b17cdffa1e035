"""The mistake: a lock with a lease, around a body that trusts it.

Every tenth holder stands still for longer than the lease, as a process does that collects its garbage. Its lock ends,
others sell, and then it writes what it had worked out before. The token is no help: it keeps a late holder from
deleting somebody's lock, not from writing. Right: a body that decides in the statement that writes, or a fence.
"""
import itertools
import random
import secrets
import time

import psycopg2

LEASE_MS, STALL_S, WAIT_S = 100, 0.3, 10
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
READ = "SELECT stock FROM product WHERE id = %(product)s"
WRITE = "UPDATE product SET stock = %(left)s WHERE id = %(product)s"
INSERT = "INSERT INTO orders (id, product_id, user_id, key) VALUES (%(id)s, %(product)s, %(user)s, %(key)s)"

passage = itertools.count(1)


def sell(pg, order):
    try:
        with pg, pg.cursor() as cursor:
            cursor.execute(READ, order)
            stock = cursor.fetchone()[0]
            if stock < 1:
                return "sold_out", None
            if next(passage) % 10 == 0:
                time.sleep(STALL_S)
            cursor.execute(WRITE, dict(order, left=stock - 1))
            cursor.execute(INSERT, order)
            return "sold", order["id"]
    except psycopg2.errors.UniqueViolation:
        return "bought_already", None


def buy(pg, memory, order):
    name, token = f"lock:{order['product']}", secrets.token_hex(16)
    end = time.monotonic() + WAIT_S
    while not memory.set(name, token, nx=True, px=LEASE_MS):
        if time.monotonic() >= end:
            return "busy", None
        time.sleep(random.uniform(0, 0.004))
    try:
        return sell(pg, order)
    finally:
        memory.eval(RELEASE, 1, name, token)
