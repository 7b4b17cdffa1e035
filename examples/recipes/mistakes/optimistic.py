"""The mistake: the version is compared in the program, and the write does not ask for it.

Everybody who has compared before the first one writes is content. Right: the comparison stands in the UPDATE's WHERE,
and its row count is the answer.
"""
import time

import psycopg2

READ = "SELECT stock, version FROM product WHERE id = %(product)s"
WRITE = "UPDATE product SET stock = %(left)s, version = %(next)s WHERE id = %(product)s"
INSERT = "INSERT INTO orders (id, product_id, user_id, key) VALUES (%(id)s, %(product)s, %(user)s, %(key)s)"
MOMENT_S = 0.05


def buy(pg, memory, order):
    try:
        with pg, pg.cursor() as cursor:
            cursor.execute(READ, order)
            stock, version = cursor.fetchone()
            if stock < 1:
                return "sold_out", None
            cursor.execute(READ, order)
            if cursor.fetchone()[1] != version:
                return "busy", None
            time.sleep(MOMENT_S)
            cursor.execute(WRITE, dict(order, left=stock - 1, next=version + 1))
            cursor.execute(INSERT, order)
    except psycopg2.errors.UniqueViolation:
        return "bought_already", None
    return "sold", order["id"]
