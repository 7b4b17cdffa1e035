/*
 * redis-stock from the script that reserves to the row: orders, writers, and a new sale.
 *
 * Stands for: lua/stock/stock_reserve.lua, lua/stock/stock_acknowledge.lua,
 * server/strategies/redis_stock/writer/ (stock_writer.c, stock_write.c, stock_decide.c,
 * stock_acknowledge.c), lua/stock/stock_take_over.lua.
 *
 * Two units, two buyers, and two writers of which each may have any entry in hand, also one that the
 * other has (it was taken over). One of them may die, once, at any place; and an answer to an
 * acknowledgement may be lost, so that it is sent again.
 *
 * As it is: commit, then acknowledge; an order that has a row is known; an entry is credited once.
 * ACK_FIRST: acknowledged, then committed. NOT_KNOWN: nobody looks whether there is a row. POISON: the first order
 * cannot be written, and its unit goes back to the mirror; CREDIT_TWICE: however often. PUT: a new
 * sale begins meanwhile, and its mirror is loaded a moment later; NO_EPOCH: the writer does not ask
 * which sale an entry is of.
 *
 * Left out: keys and limits, batches, held rows, how a mirror is loaded and corrected (mirror.pml),
 * a Redis that forgets (then accepted orders are lost, as documented).
 */
#define ORDERS 2
mtype = { NO_ROW, CONFIRMED, FAILED };

byte stock = 2, epoch = 1;          /* the product's row */
mtype row[ORDERS] = NO_ROW;         /* the orders' */
byte mirror = 2, mirror_epoch = 1;  /* in Redis */
bool entry[ORDERS], accepted[ORDERS];
byte entry_epoch[ORDERS], hands[ORDERS]; /* how many writers have it */
bool died, strayed;                 /* a writer; an order of one sale into another */

active [ORDERS] proctype buyer()
{
    byte i = _pid;
    atomic {
        mirror > 0 -> mirror--;
        entry[i] = true;
        entry_epoch[i] = mirror_epoch;
        accepted[i] = true
    }
}

inline die_perhaps()
{
    if
    :: atomic { !died -> died = true; hands[i]--; goto gone }
    :: skip
    fi
}

inline acknowledge()
{
    atomic {
#ifdef CREDIT_TWICE
        if :: credit && mirror_epoch == entry_epoch[i] -> mirror++ :: else fi;
#else
        if :: entry[i] && credit && mirror_epoch == entry_epoch[i] -> mirror++ :: else fi;
#endif
        entry[i] = false
    }
}

inline decide()
{
    atomic { /* one transaction, with the product's row locked */
        if
#ifndef NOT_KNOWN
        :: row[i] != NO_ROW -> skip
#endif
#ifndef NO_EPOCH
        :: row[i] == NO_ROW && entry_epoch[i] != epoch -> skip
#endif
        :: else ->
            strayed = strayed || entry_epoch[i] != epoch;
            if
#ifdef POISON
            :: i == 0 -> row[i] = FAILED; credit = true
#endif
            :: else ->
                if
                :: stock > 0 -> stock--; row[i] = CONFIRMED
                :: else -> row[i] = FAILED
                fi
            fi
        fi
    }
}

active [2] proctype writer()
{
    byte i;
    bool credit;
end: do
    :: atomic { entry[0] -> i = 0; hands[i]++ }; goto write
    :: atomic { entry[1] -> i = 1; hands[i]++ }; goto write
    od;
write:
    credit = false;
#ifdef ACK_FIRST
    acknowledge();
    die_perhaps();
    decide();
#else
    die_perhaps();
    decide();
    die_perhaps();
    acknowledge();
    if :: acknowledge() :: skip fi; /* the answer was lost */
#endif
    atomic { hands[i]--; i = 0 };
    goto end;
gone: skip
}

#ifdef PUT
active proctype admin()
{
    atomic { epoch = 2; stock = 2; row[0] = NO_ROW; row[1] = NO_ROW };
    atomic { mirror_epoch = 2; mirror = 2 }
}
#endif

#define SOLD ((row[0] == CONFIRMED) + (row[1] == CONFIRMED))
#define OPEN(i) (entry[i] && row[i] == NO_ROW && entry_epoch[i] == epoch)
#define LOST(i) (accepted[i] && !entry[i] && row[i] == NO_ROW && hands[i] == 0 && entry_epoch[i] == epoch)

ltl books { [] (stock + SOLD == 2) }
ltl none_is_lost { [] !(LOST(0) || LOST(1)) }
ltl accepted_is_sold { [] (row[0] != FAILED && row[1] != FAILED) }
ltl mirror_not_too_high { [] (mirror_epoch != epoch || mirror + OPEN(0) + OPEN(1) <= stock) }
ltl own_sale_alone { [] !strayed }
