/*
 * The fence: a number in the product's row that grows with each holder and that every write names.
 *
 * Stands for: server/strategies/redis_locks/redis_fenced.c and redis_queue.c, purchase_register_fence
 * (server/sale/purchase.c), purchase_set_stock (purchase_write.c), and fence_register,
 * stock_set_fenced, order_insert_sold, batch_lock in sql/statements.sql.
 *
 * Two holders at once, as when the first was paused past its lease or Redis has forgotten its lock:
 * so there is no lock here at all. One unit.
 *
 * As it is: the fence is registered in the row, and committed, before the stock is read. NO_FENCE:
 * none. WRITE_ONLY: a token that Redis counts, which the write alone compares with the row's, as in
 * Kleppmann's drawing. READ_FIRST: registered, but after the stock was read. PUT: a new sale of two
 * units begins meanwhile; NO_EPOCH: the write does not name the sale that was read.
 *
 * Left out: the lock (it keeps the queue polite), limits, keys, retries.
 */
byte stock = 1, start = 1, sold; /* the present sale's: units now and at its beginning, orders */
byte epoch = 1, fence, tokens;

inline read() { atomic { seen = stock; sale = epoch } }

#ifdef NO_EPOCH
# define SAME_SALE true
#else
# define SAME_SALE (epoch == sale)
#endif

#if defined(NO_FENCE)
# define MAY_WRITE true
#elif defined(WRITE_ONLY)
# define MAY_WRITE (mine >= fence)
#else
# define MAY_WRITE (fence == mine)
#endif

active [2] proctype holder()
{
    byte mine, seen, sale;
#if defined(WRITE_ONLY)
    atomic { tokens++; mine = tokens };
    read();
#elif defined(READ_FIRST)
    read();
    atomic { fence++; mine = fence };
#else
    atomic { fence++; mine = fence };
    read();
#endif
    if
    :: seen >= 1 ->
        atomic { /* one statement, or one transaction with the row locked */
            if
            :: MAY_WRITE && SAME_SALE ->
                stock = seen - 1;
                sold++;
#ifdef WRITE_ONLY
                fence = mine
#endif
            :: else /* lease_lost, or made again */
            fi
        }
    :: else
    fi
}

#ifdef PUT
active proctype admin()
{
    atomic { epoch++; stock = 2; start = 2; sold = 0 }
}
#endif

ltl not_oversold { [] (sold <= start) }
ltl books { [] (stock + sold == start) }
