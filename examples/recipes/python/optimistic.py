"""optimistic: read, work out what to write, and write it only over the version that was read.

For work between reading and writing that a statement cannot do. Each try is a transaction of its own, or it would read
its own old snapshot; between tries it waits a random time, more each time; and there is an end, after which the buyer
is told "busy", never "sold out". How often it must try grows with the crowd: one of those who have read the same wins.
"""
import random
import time

import psycopg2

from conditional import said

WAIT_S = 10
READ = "SELECT stock, version FROM product WHERE id = %(product)s"
WRITE = """
UPDATE product SET stock = %(left)s, version = version + 1 WHERE id = %(product)s AND version = %(version)s
"""
INSERT = "INSERT INTO orders (id, product_id, user_id, key) VALUES (%(id)s, %(product)s, %(user)s, %(key)s)"


def try_once(pg, order):
    """"sold", "sold_out", or None: somebody else has written since."""
    with pg, pg.cursor() as cursor:
        cursor.execute(READ, order)
        row = cursor.fetchone()
        if row is None or row[0] < 1:
            return "sold_out"
        cursor.execute(WRITE, dict(order, left=row[0] - 1, version=row[1]))
        if cursor.rowcount == 0:
            return None
        cursor.execute(INSERT, order)
        return "sold"


def buy(pg, memory, order):
    end, pause = time.monotonic() + WAIT_S, 0.001
    try:
        while time.monotonic() < end:
            word = try_once(pg, order)
            if word == "sold":
                return word, order["id"]
            if word:
                return said(pg, order, word)
            time.sleep(random.uniform(0, pause))
            pause = min(2 * pause, 0.05)
    except psycopg2.errors.UniqueViolation:
        return said(pg, order, "bought_already")
    return "busy", None
