/*
 * A COMMIT whose reply was lost: what became of the order?
 *
 * Stands for: server/sale/settle.c, order_tombstone and order_status in sql/statements.sql.
 *
 * The order's own transaction, its twin, may not have come to PostgreSQL yet, may be running, or be
 * over. Whoever settles has a connection of their own and asks once. As it is: a tombstone with the
 * order's id is inserted, which waits for a twin that has inserted its row, and stays. LOOK: a
 * SELECT instead, which sees what is committed. TAKEN_BACK: the insert is rolled back after it has
 * told.
 *
 * Left out: more than one attempt, the crash of PostgreSQL (early_release.pml has it).
 */
mtype = { NO_ROW, INSERTED, COMMITTED, TOMBSTONE };
mtype row = NO_ROW;
bool told_yes, told_no;

active proctype twin()
{
    if
    :: atomic { row == NO_ROW -> row = INSERTED };
        if
        :: row = COMMITTED
        :: row = NO_ROW /* rolled back */
        fi
    :: row == TOMBSTONE /* the id is taken: it fails */
    :: skip             /* lost on its way */
    fi
}

active proctype settler()
{
#ifdef LOOK
    if
    :: row == COMMITTED -> told_yes = true
    :: else -> told_no = true
    fi
#else
    atomic { /* the unique index makes it wait for a row that is not yet committed */
        row != INSERTED ->
        if
        :: row == COMMITTED -> told_yes = true
        :: row == NO_ROW -> row = TOMBSTONE
        fi
    };
    if
    :: told_yes
    :: else ->
# ifdef TAKEN_BACK
        row = NO_ROW;
# endif
        told_no = true
    fi
#endif
}

ltl told_is_so { [] ((told_yes -> row == COMMITTED) && (told_no -> row != COMMITTED)) }
