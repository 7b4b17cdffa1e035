/*
 * Early lock release: committed without waiting for the log, answered after a later flush.
 *
 * Stands for: server/sale/flusher.c, server/sale/proven.c, server/drive/early_release.c, server/sale/settle.c.
 *
 * One unit and two buyers: the second may be refused because of the first one's sale. PostgreSQL's
 * log is a number of commits, of which a crash keeps those that are flushed; it crashes up to twice,
 * and the flusher's session may be lost without a crash. What the flusher cannot prove it settles.
 *
 * As it is: the ticket names the flusher's session that was open before the commit; the list is
 * taken before the flush begins; refusals that rest on such a sale are parked like sales, unless a
 * flush of this session's has covered as much of the log before.
 * NO_BARRIER: told without a flush. NO_TICKET: any session's flush proves. TICKET_LATE: the ticket is
 * taken when the order parks. LIST_LATE: the list is taken when the flush is over. REFUSED_AT_ONCE:
 * a refusal is told at once. SETTLED_AT_ONCE: an order that settling finds is told without a flush.
 * ANY_VERSION: a flush has covered the product once, whatever was written since. NOTED_FIRST: what a
 * flush covers is noted when it begins.
 *
 * Left out: that the session is forgotten with its proofs (a failover may take what was flushed);
 * several instances (what a second one reads is told by product.early, as here), who
 * sells when there is no session (their own flush), standbys.
 */
#define BUYERS 2
#define UNKNOWN 255

byte log, flushed, server = 1, crashes;
byte at[BUYERS];     /* the order's commit in the log; 0: there is none */
byte ticket[BUYERS], session, session_server, opened; /* the flusher's session; 0: none */
byte known; /* what the session's flushes have covered of the log */
bool parked[BUYERS], refuse[BUYERS], told[BUYERS], refused[BUYERS];

#ifdef ANY_VERSION
#define COVERED(seen) true
#else
#define COVERED(seen) (seen <= known)
#endif
#define SOLD (at[0] != 0 || at[1] != 0)

active proctype postgresql()
{
end: do
    :: atomic { flushed < log -> flushed++ } /* the walwriter, when it likes */
    :: atomic {
        crashes < 2 -> crashes++;
        if :: at[0] > flushed -> at[0] = 0 :: else fi;
        if :: at[1] > flushed -> at[1] = 0 :: else fi;
        log = flushed;
        server++
    }
    od
}

active [BUYERS] proctype buyer() /* _pid is 1 or 2 */
{
    byte i = _pid - 1, with, seen;
    atomic { /* flusher_ticket: of a session with the same server */
        with = server;
        ticket[i] = (session_server == server -> session : 0)
    };
    if
    :: atomic { with != server -> skip } /* the statement fails with its session: nothing is done */
    :: atomic {
        with == server ->
        if
        :: SOLD -> refuse[i] = true; seen = log
        :: else -> log++; at[i] = log
        fi
    };
#ifdef REFUSED_AT_ONCE
        if :: refuse[i] -> refused[i] = true :: else fi;
#endif
#ifdef TICKET_LATE
        ticket[i] = session;
#endif
        if
        :: ticket[i] == 0 -> skip /* early_release.c: its own flush; another model's matter */
        :: atomic { ticket[i] != 0 && refuse[i] && ticket[i] == session && COVERED(seen) -> refused[i] = true }
        :: atomic { ticket[i] != 0 && !(refuse[i] && ticket[i] == session && COVERED(seen)) -> parked[i] = true }
        fi
    fi
}

inline answer(i) { if :: refuse[i] -> refused[i] = true :: else -> told[i] = true fi }

/* A refusal that is not proven is no answer. A sale is looked up, behind a flush of its own. */
inline settle(i)
{
    if
    :: refuse[i]
    :: !refuse[i] && at[i] == 0 /* the tombstone took its id: it is not sold */
#ifdef SETTLED_AT_ONCE
    :: !refuse[i] && at[i] != 0 -> told[i] = true
#else
    :: atomic { !refuse[i] && at[i] != 0 -> flushed = log; told[i] = true }
#endif
    fi
}

inline take() { atomic { mine[0] = parked[0]; mine[1] = parked[1]; parked[0] = false; parked[1] = false } }

inline conclude(i)
{
    if
    :: !mine[i]
#ifdef NO_TICKET
    :: mine[i] && proven -> answer(i)
    :: mine[i] && !proven -> settle(i)
#else
    :: mine[i] && proven && ticket[i] == session -> answer(i)
    :: mine[i] && !(proven && ticket[i] == session) -> settle(i)
#endif
    fi
}

active proctype flusher()
{
    byte mark;
    bool proven, mine[BUYERS];
end: do
    :: atomic { session == 0 || session_server != server -> opened++; session = opened; session_server = server; known = 0 }
    :: atomic { session != 0 && opened < 3 -> session = 0 } /* it is lost */
    :: parked[0] || parked[1] ->
#ifndef LIST_LATE
        take();
#endif
        mark = log; /* the barrier's own record */
#ifdef NOTED_FIRST
        known = mark;
#endif
#ifdef NO_BARRIER
        proven = true;
#else
        atomic { /* it comes back when the log is on disk so far, unless its session has ended */
            proven = session != 0 && session_server == server;
            if :: proven && flushed < mark -> flushed = mark :: else fi;
            if :: proven -> known = mark :: else fi
        };
#endif
#ifdef LIST_LATE
        take();
#endif
        conclude(0);
        conclude(1)
    od
}

ltl told_is_kept { [] (!(told[0] && at[0] == 0) && !(told[1] && at[1] == 0)) }
ltl refused_is_true { [] (!(refused[0] || refused[1]) || SOLD) }
