/*
 * The reconciler: is Redis's stock the row's less what is reserved? It unloads a mirror that is wrong,
 * and counts it.
 *
 * Stands for: server/strategies/redis_stock/mirror/stock_reconcile.c, lua/stock/stock_look.lua.
 *
 * Two units and two buyers, whose orders are reserved, committed and settled meanwhile. WRONG:
 * somebody writes into the mirror, once. CANCEL: a cancel commits and then corrects the mirror.
 *
 * As it is: a difference is looked at again with the row locked, and what is committed and not yet
 * settled is none. NO_LOCK: it is not looked at again. NO_ROWS: nor is it asked which orders have rows.
 *
 * Left out: how a mirror is loaded (mirror.pml), several products, mirrors of an ended sale.
 */
#define BUYERS 2
byte stock = 2, mirror = 2, units; /* the row; Redis: the mirror, and what is reserved */
byte undecided; /* reserved, and without a row */
bool locked, loaded = true;
bool wrong, alarm, over;
byte settled; /* buyers, and who cancels */

active [BUYERS] proctype buyer()
{
    if
    :: atomic { loaded && mirror > 0 -> mirror--; units++; undecided++ };
        atomic { !locked -> stock--; undecided-- };
        atomic { units--; settled++ }
    :: atomic { !loaded || mirror == 0 -> settled++ }
    fi
}

inline look() { atomic { high = (mirror + units > figure); same = (!loaded || mirror + units == figure) } }

inline look_closer()
{
    look();
#ifndef NO_ROWS
    if
    :: !same && high -> atomic { same = (!loaded || mirror + undecided == figure) }
    :: else
    fi
#endif
}

inline round()
{
    figure = stock;
    look();
#ifndef NO_LOCK
    if
    :: !same ->
        atomic { !locked -> locked = true; figure = stock };
        look_closer();
        locked = false
    :: else
    fi;
#endif
    if
    :: !same -> atomic { alarm = true; loaded = false }
    :: else
    fi
}

#if defined(WRONG)
# define QUIET (settled == BUYERS && wrong)
#elif defined(CANCEL)
# define QUIET (settled == BUYERS + 1)
#else
# define QUIET (settled == BUYERS)
#endif

active proctype reconciler()
{
    byte figure;
    bool high, same;
    do
    :: round()
    :: QUIET -> break
    od;
    round(); /* nothing happens any more */
    over = true
}

#ifdef WRONG
active proctype somebody()
{
    if
    :: atomic { mirror++; wrong = true }
    :: atomic { mirror > 0 -> mirror--; wrong = true }
    fi
}
#endif

#ifdef CANCEL
active proctype canceller()
{
    atomic { !locked -> stock++ };
    atomic { if :: loaded -> mirror++ :: else fi; settled++ }
}
#endif

ltl no_false_alarm { [] (alarm -> wrong) }
ltl mended { [] (!over || !loaded || mirror == stock) }
