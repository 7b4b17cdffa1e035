"""redis-token: a lock in Redis with an owner, around a body that is right without it.

SET NX PX in one command, or a crash between two leaves a lock for ever; deleted by a script that compares the token, or
a holder who comes late deletes the next one's. What a lock with a lease cannot do is to stop a holder who was paused
past it: so the body is `conditional`'s statement. The lock keeps the crowd off the row; the statement keeps the stock.
"""
import random
import secrets
import time

import conditional

WAIT_S = 10
LEASE_MS = 5000
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


def acquire(memory, name, token):
    end, pause = time.monotonic() + WAIT_S, 0.001
    while not memory.set(name, token, nx=True, px=LEASE_MS):
        if time.monotonic() >= end:
            return False
        time.sleep(random.uniform(0, pause))
        pause = min(2 * pause, 0.02)
    return True


def buy(pg, memory, order):
    name, token = f"lock:{order['product']}", secrets.token_hex(16)
    if not acquire(memory, name, token):
        return "busy", None
    try:
        return conditional.buy(pg, memory, order)  # committed when it returns: commit first, release then
    finally:
        memory.eval(RELEASE, 1, name, token)
