"""conditional: one statement decides, and is the whole transaction. Take this one unless something speaks against it.

The UPDATE asks whether there is stock at the moment at which it writes, under the row's lock; nobody can come between.
Its row feeds the INSERT: no unit, no order; and an order that a UNIQUE refuses takes the unit back with it.
"""
import psycopg2

BUY = """
WITH taken AS (UPDATE product SET stock = stock - 1 WHERE id = %(product)s AND stock >= 1 RETURNING id)
INSERT INTO orders (id, product_id, user_id, key) SELECT %(id)s, id, %(user)s, %(key)s FROM taken
"""
FIND = "SELECT id FROM orders WHERE user_id = %(user)s AND key = %(key)s"


def find(pg, order):
    with pg, pg.cursor() as cursor:
        cursor.execute(FIND, order)
        row = cursor.fetchone()
        return row[0] if row else None


def said(pg, order, word):
    """A "no" is said only when the key has no order: the first request of a repeat may have taken the last unit."""
    number = find(pg, order)
    return ("again", number) if number else (word, None)


def buy(pg, memory, order):
    try:
        with pg, pg.cursor() as cursor:  # BEGIN … COMMIT
            cursor.execute(BUY, order)
            sold = cursor.rowcount == 1
    except psycopg2.errors.UniqueViolation:
        return said(pg, order, "bought_already")
    return ("sold", order["id"]) if sold else said(pg, order, "sold_out")
