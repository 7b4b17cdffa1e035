"""early lock release: the row is free before the disk has it, and nobody is answered before the disk has it.

The sale is `conditional`'s, committed without waiting for the disk; the answer waits for a flush that began after it,
one for all who wait. Refusals wait as well: they rest on sales that may not be on the disk yet. docs/strategies/early-release.md
says why, and what a flush proves when the flusher's session is younger than the sale: nothing. Such an answer is
unknown, and the buyer repeats it with the same key.
"""
import threading
import time

import psycopg2

import conditional

FLUSH = "SELECT pg_logical_emit_message(true, 'shop', '')"  # a commit of its own, with nothing in it
WAIT_S = 30

waiting, parked = [], threading.Condition()
session_number = 0  # of the flusher's session that is open; 0: none


def flush_for_ever(connect):
    global session_number
    number = 0
    while True:
        try:
            pg = connect()
            pg.autocommit = True
            number += 1
            session_number = number
            flush_while_connected(pg, number)
        except psycopg2.Error:
            session_number = 0
            time.sleep(1)


def flush_while_connected(pg, number):
    while True:
        with parked:
            parked.wait_for(lambda: waiting)
            batch, waiting[:] = waiting[:], []  # taken before the statement is sent
        safe = False
        try:
            pg.cursor().execute(FLUSH)
            safe = True
        finally:
            for slot in batch:
                slot["safe"] = safe and slot["session"] == number
                slot["done"].set()


def wait_for_flush(session):
    slot = {"session": session, "safe": False, "done": threading.Event()}
    with parked:
        waiting.append(slot)
        parked.notify()
    slot["done"].wait(WAIT_S)
    if not slot["safe"]:
        raise RuntimeError("not known to be on the disk")


def buy(pg, memory, order):
    session = session_number  # before the commit: a session that opens after it proves nothing
    with pg.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off" if session else "SET synchronous_commit = on")
    answer = conditional.buy(pg, memory, order)
    if session:
        wait_for_flush(session)
    return answer


def start(connect, memory):
    threading.Thread(target=flush_for_ever, args=(connect,), daemon=True).start()
