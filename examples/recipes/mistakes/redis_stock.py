"""The mistake: Redis is asked, and then told, by two commands; and PostgreSQL is not asked at all.

Each command is atomic, and the pair is not: all who have read "1" take one. The writer behind it believes what Redis
has said. Right: one script that looks and takes, and a writer whose UPDATE has its own "stock >= 1".
"""
import time

import psycopg2

WRITE = """
WITH taken AS (UPDATE product SET stock = stock - 1 WHERE id = %(product)s RETURNING id)
INSERT INTO orders (id, product_id, user_id, key) SELECT %(id)s, id, %(user)s, %(key)s FROM taken
"""
MOMENT_S = 0.2


def stock_name(product):
    return f"sale:{product}:stock"


def put(memory, product, stock):
    memory.set(stock_name(product), stock)


def buy(pg, memory, order):
    if int(memory.get(stock_name(order["product"]))) < 1:
        return "sold_out", None
    time.sleep(MOMENT_S)
    memory.decr(stock_name(order["product"]))
    try:
        with pg, pg.cursor() as cursor:
            cursor.execute(WRITE, order)
    except psycopg2.errors.UniqueViolation:
        memory.incr(stock_name(order["product"]))
        return "bought_already", None
    return "sold", order["id"]
