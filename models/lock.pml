/*
 * The locks with a lease, around a body that reads the stock, decides, and writes a figure.
 *
 * Stands for: server/lock/redis/*.c, lua/lock/token_release.lua, server/strategies/locked.c,
 * server/sale/body/. One unit and three buyers, each of whom tries once.
 *
 * The lock is redis-expiry's: SET NX PX, then DEL. Or SETNX (SETNX, then PEXPIRE, then DEL), UUID (…
 * GET, compare, DEL), TOKEN (… compare and delete in one script), GETSET (a stamp that is judged by
 * the clock of whoever wants the lock), NONE.
 * What happens: PAUSES (a lease may end while its holder works), DIES (one holder dies, once), SKEW
 * (a clock is ahead: a live lock is taken over). GUARDED: the database decides, not the figure that
 * was read. CHECKED: the holder asks whether the lock is still its own, right before it writes.
 *
 * Left out: how long a lease is, tries that are made again, queues of waiters, a Redis that
 * forgets (it is like PAUSES).
 */
#define BUYERS 3
#define NOBODY 255

byte stock = 1, sold;
byte owner = NOBODY;       /* whose value the key has */
bool leased, misdeleted;   /* it has an expiry; somebody deleted another's */
bool dead[BUYERS], died;

inline delete()
{
    misdeleted = misdeleted || (owner != NOBODY && owner != _pid);
    owner = NOBODY
}

inline die_perhaps()
{
#ifdef DIES
    if
    :: atomic { !died -> died = true; dead[_pid] = true }; goto gone
    :: skip
    fi
#endif
    skip
}

inline acquire()
{
#if defined(SETNX)
    atomic { owner == NOBODY -> owner = _pid; leased = false };
    die_perhaps();
    leased = true
#elif defined(GETSET) && defined(SKEW)
    atomic { owner = _pid; leased = true }
#else
    atomic { owner == NOBODY -> owner = _pid; leased = true }
#endif
}

inline release()
{
#if defined(UUID)
    if
    :: owner == _pid -> atomic { delete() }
    :: else
    fi
#elif defined(TOKEN)
    atomic { if :: owner == _pid -> delete() :: else fi }
#else
    atomic { delete() }
#endif
}

inline buy()
{
#ifdef GUARDED
    atomic { if :: stock >= 1 -> stock--; sold++ :: else fi }
#else
    seen = stock;
    die_perhaps();
    if
# ifdef CHECKED
    :: seen >= 1 && owner == _pid -> atomic { stock = seen - 1; sold++ }
# else
    :: seen >= 1 -> atomic { stock = seen - 1; sold++ }
# endif
    :: else
    fi
#endif
}

active [BUYERS] proctype buyer()
{
    byte seen;
#ifndef NONE
    acquire();
#endif
    buy();
#ifndef NONE
    release();
#endif
gone: skip
}

/* Redis ends leases: of the dead, and with PAUSES any. */
active proctype redis()
{
end: do
#ifdef PAUSES
    :: atomic { owner != NOBODY && leased -> owner = NOBODY }
#else
    :: atomic { owner != NOBODY && leased && dead[owner] -> owner = NOBODY }
#endif
    od
}

ltl not_oversold { [] (sold <= 1) }
ltl own_lock_alone { [] !misdeleted }
