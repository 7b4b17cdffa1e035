"""The mistake: nobody looks how many rows the UPDATE has changed.

"WHERE stock >= 1" keeps the figure from going below nothing, and the order is inserted all the same. The stock looks
right for ever; the orders are too many. Right: ask for the row count, or feed the INSERT from the UPDATE.
"""
import psycopg2

TAKE = "UPDATE product SET stock = stock - 1 WHERE id = %(product)s AND stock >= 1"
INSERT = "INSERT INTO orders (id, product_id, user_id, key) VALUES (%(id)s, %(product)s, %(user)s, %(key)s)"


def buy(pg, memory, order):
    try:
        with pg, pg.cursor() as cursor:
            cursor.execute(TAKE, order)
            cursor.execute(INSERT, order)
    except psycopg2.errors.UniqueViolation:
        return "bought_already", None
    return "sold", order["id"]
