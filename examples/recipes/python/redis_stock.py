"""redis-stock: one script in Redis decides, the buyer is told "accepted", and a writer brings the order to PostgreSQL.

The script looks the key up, then the buyer, then the stock, and writes all it has to in the same act; what is lost
between two commands is then nothing. The stream is the hand-over: an entry is acknowledged after its COMMIT, and one
that comes twice finds its id there. PostgreSQL has the last word (stock >= 1). Redis wants appendonly yes and
appendfsync always; a failover forgets what was not copied yet. A missing stock key means "not loaded", never 0.
"""
import threading

import redis

STREAM, GROUP = "sale:entries", "writer"
RESERVE = """
local known = redis.call('HGET', KEYS[2], ARGV[3])
if known then return {'accepted', known} end
if redis.call('SISMEMBER', KEYS[3], ARGV[2]) == 1 then return {'bought_already'} end
local stock = redis.call('GET', KEYS[1])
if not stock then return {'busy'} end
if tonumber(stock) < 1 then return {'sold_out'} end
redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[3], ARGV[1])
redis.call('SADD', KEYS[3], ARGV[2])
redis.call('XADD', KEYS[4], '*', 'id', ARGV[1], 'product', ARGV[5], 'user', ARGV[2], 'key', ARGV[4])
return {'accepted', ARGV[1]}
"""
TAKE = "UPDATE product SET stock = stock - 1 WHERE id = %(product)s AND stock >= 1"
WRITE = """
INSERT INTO orders (id, product_id, user_id, key) VALUES (%(id)s, %(product)s, %(user)s, %(key)s) ON CONFLICT DO NOTHING
"""


def names(product):
    return f"sale:{product}:stock", f"sale:{product}:keys", f"sale:{product}:users", STREAM


def buy(pg, memory, order):
    said = memory.eval(RESERVE, 4, *names(order["product"]), order["id"], order["user"],
                       f"{order['user']} {order['key']}", order["key"], order["product"])
    return said[0], said[1] if len(said) > 1 else None


def write(pg, memory, number, order):
    with pg, pg.cursor() as cursor:
        cursor.execute(WRITE, order)
        if cursor.rowcount == 1:  # else: an entry that was written, and whose acknowledgement was lost
            cursor.execute(TAKE, order)
            if cursor.rowcount == 0:
                pg.rollback()
                memory.hset("sale:failed", order["id"], "failed")
    memory.xack(STREAM, GROUP, number)  # after the COMMIT


def write_for_ever(connect, memory):
    pg, first = connect(), "0"  # what was read before and not acknowledged comes first
    while True:
        for _, entries in memory.xreadgroup(GROUP, "one", {STREAM: first}, count=100, block=1000) or []:
            if first == "0" and not entries:
                first = ">"
            for number, order in entries:
                write(pg, memory, number, order)


def start(connect, memory):
    try:
        memory.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
    except redis.ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise
    threading.Thread(target=write_for_ever, args=(connect, memory), daemon=True).start()


def put(memory, product, stock):  # between sales: the last one's entries are written
    stock_name, keys, users, _ = names(product)
    memory.delete(keys, users, "sale:failed")
    memory.set(stock_name, stock)


def status(pg, memory, number):
    with pg, pg.cursor() as cursor:
        cursor.execute("SELECT 1 FROM orders WHERE id = %s", (number,))
        return "confirmed" if cursor.fetchone() else memory.hget("sale:failed", number)


def quiet(memory):
    group = memory.xinfo_groups(STREAM)[0]
    return group["pending"] == 0 and group["last-delivered-id"] == memory.xinfo_stream(STREAM)["last-generated-id"]
