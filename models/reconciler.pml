/*
 * The reconciler: is Redis's stock the row's less what is reserved? It unloads a mirror that is wrong,
 * and counts it.
 *
 * Stands for: server/strategies/redis_stock/mirror/stock_reconcile.c, lua/stock/stock_look.lua.
 *
 * Two units and two buyers, whose orders are reserved, committed and settled meanwhile. WRONG:
 * somebody writes into the mirror, once. CANCEL: a cancel commits and then corrects the mirror.
 *
 * As it is: a difference is looked at again with the row locked, and none is told while something is
 * reserved. NO_LOCK: it is not looked at again. NO_REST: what is reserved does not keep it back.
 *
 * Left out: how a mirror is loaded (mirror.pml), several products, mirrors of an ended sale.
 */
#define BUYERS 2
byte stock = 2, mirror = 2, units; /* the row; Redis: the mirror, and what is reserved */
bool locked, loaded = true;
bool wrong, alarm, over;
byte settled; /* buyers, and who cancels */

active [BUYERS] proctype buyer()
{
    if
    :: atomic { loaded && mirror > 0 -> mirror--; units++ };
        atomic { !locked -> stock-- };
        atomic { units--; settled++ }
    :: atomic { !loaded || mirror == 0 -> settled++ }
    fi
}

inline look() { atomic { at_rest = (units == 0); same = (!loaded || mirror == figure) } }

#ifdef NO_REST
# define DIFFERS (!same)
#else
# define DIFFERS (!same && at_rest)
#endif

inline round()
{
    figure = stock;
    look();
#ifndef NO_LOCK
    if
    :: DIFFERS ->
        atomic { !locked -> locked = true; figure = stock };
        look();
        locked = false
    :: else
    fi;
#endif
    if
    :: DIFFERS -> atomic { alarm = true; loaded = false }
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
    bool at_rest, same;
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
