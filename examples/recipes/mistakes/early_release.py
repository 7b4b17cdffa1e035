"""The mistake: the lock is released before the COMMIT, not before the flush.

Who gets it next reads what was there before this order. Every lock that is taken inside of a transaction and ends in
the function that took it does this: a "synchronized" method under a transaction that its caller commits is the usual
one. Right: COMMIT first, release then. What may wait until after the release is the disk alone.
"""
import time

import psycopg2

LOCK = "SELECT pg_advisory_lock(%(product)s)"
UNLOCK = "SELECT pg_advisory_unlock(%(product)s)"
READ = "SELECT stock FROM product WHERE id = %(product)s"
WRITE = "UPDATE product SET stock = %(left)s WHERE id = %(product)s"
INSERT = "INSERT INTO orders (id, product_id, user_id, key) VALUES (%(id)s, %(product)s, %(user)s, %(key)s)"
MOMENT_S = 0.05


def take_under_lock(cursor, order):
    cursor.execute(LOCK, order)
    try:
        cursor.execute(READ, order)
        stock = cursor.fetchone()[0]
        if stock >= 1:
            cursor.execute(WRITE, dict(order, left=stock - 1))
        return stock >= 1
    finally:
        cursor.execute(UNLOCK, order)


def buy(pg, memory, order):
    try:
        with pg, pg.cursor() as cursor:
            cursor.execute(INSERT, order)
            if not take_under_lock(cursor, order):
                pg.rollback()
                return "sold_out", None
            time.sleep(MOMENT_S)  # the rest of the request, and then the COMMIT
            return "sold", order["id"]
    except psycopg2.errors.UniqueViolation:
        return "bought_already", None
