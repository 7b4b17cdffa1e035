/*
 * The mirror: how redis-stock's stock in Redis is loaded from the row, and corrected after a commit.
 *
 * Stands for: server/strategies/redis_stock/mirror/stock_mirror.c and stock_waiting.c,
 * redis_stock.c (change), stock_writer.c (unload_wrong), lua/stock/stock_load.lua, stock_correct.lua,
 * stock_forget.lua.
 *
 * One unit in the row, and one that a cancel brings back. Two buyers, a writer, an instance that
 * loads a missing mirror, and somebody who unloads it, once, whenever he likes.
 *
 * As it is: the row is locked while it is loaded, what waits without a row is subtracted, and a
 * correction names the mirror's generation that was seen before the transaction: another is unloaded.
 * NO_LOCK, WAITING_FORGOTTEN, NO_GENERATION: without each. LEFT_ALONE: another generation is neither
 * corrected nor unloaded. BEHIND: another strategy has sold the unit from the row, and the mirror does
 * not know; the refused order's mirror is unloaded, or, CREDITED, gets its unit back.
 *
 * Left out: epochs (reservation.pml), users' units, loads that fail half-way (they leave no mirror).
 */
#define BUYERS 2
mtype = { NO_ROW, CONFIRMED, FAILED };

byte stock = 1;             /* the product's row */
bool locked;                /* and who writes it waits */
mtype row[BUYERS] = NO_ROW; /* the orders' */
bool loaded = true;
byte mirror = 1, generation = 1;
bool entry[BUYERS];
bool cancelling, unloaded;

active [BUYERS] proctype buyer()
{
    byte i = _pid;
end: if
    :: atomic { loaded && mirror > 0 -> mirror--; entry[i] = true }
    :: loaded && mirror == 0 /* sold out */
    fi
}

active proctype writer()
{
    byte i;
end: do
    :: atomic { entry[0] || entry[1] -> i = (entry[0] -> 0 : 1) };
        atomic {
            !locked ->
            if
            :: stock > 0 -> stock--; row[i] = CONFIRMED
            :: else -> row[i] = FAILED
            fi
        };
#ifdef CREDITED
        atomic { entry[i] = false; if :: row[i] == FAILED -> mirror++ :: else fi }
#else
        if :: row[i] == FAILED -> loaded = false :: else fi;
        entry[i] = false
#endif
    od
}

active proctype loader()
{
    byte figure, waiting, i;
    bool seen[BUYERS];
end: do
    :: atomic { !loaded && !locked -> figure = stock;
#ifndef NO_LOCK
        locked = true
#endif
        };
        waiting = 0;
#ifndef WAITING_FORGOTTEN
        atomic { seen[0] = entry[0]; seen[1] = entry[1] };
        waiting = (seen[0] && row[0] == NO_ROW) + (seen[1] && row[1] == NO_ROW);
#endif
        atomic { mirror = (figure > waiting -> figure - waiting : 0); generation++; loaded = true };
        locked = false
    od
}

#ifdef BEHIND
active proctype other() { atomic { !locked && stock > 0 -> stock-- } }
#else
active proctype canceller() /* of an order that was sold before */
{
    byte named;
    atomic { cancelling = true; named = (loaded -> generation : 0) };
    atomic { !locked -> stock++ };
    atomic {
        if
# ifdef NO_GENERATION
        :: loaded -> mirror++
        :: else
# else
        :: loaded && generation == named -> mirror++
#  ifdef LEFT_ALONE
        :: else
#  else
        :: else -> loaded = false
#  endif
# endif
        fi;
        cancelling = false
    }
}

active proctype somebody() { atomic { loaded = false; unloaded = true } }
#endif

ltl accepted_is_sold { [] (row[0] != FAILED && row[1] != FAILED) }
ltl right_at_rest { [] (!loaded || locked || cancelling || entry[0] || entry[1] || mirror == stock) }
ltl mended_at_once { [] !(row[0] == FAILED && row[1] == FAILED) }
