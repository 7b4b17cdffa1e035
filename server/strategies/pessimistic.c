/*
 * pessimistic: SELECT … FOR UPDATE, decide, UPDATE, INSERT, COMMIT on one connection.
 *
 * The row lock is taken before the stock is read and held until COMMIT, so nobody else reads or
 * writes the figure in between. It cannot oversell, with any number of instances and however long
 * this process is paused: the lock lives in PostgreSQL with the data.
 *
 * What it costs: every order of a product waits for the one before it, through two round trips
 * and a flush. What makes it wait: another holder; the wait counts as the order's own
 * (wait_timeout, phase lock), and wait_ms=0 asks with NOWAIT. A client that freezes inside blocks
 * the row until idle_in_transaction_session_timeout ends its session. A crash loses nothing that
 * was answered.
 *
 * Source: PostgreSQL documentation, "Explicit Locking", row-level locks.
 */
#include "sale/purchase_write.h"
#include "strategies/strategies.h"

static bool lock_row(struct session *session, struct order *order, struct product_row *row)
{
    if (order->no_wait)
        return purchase_read(session, order, SQL_PRODUCT_LOCK_NOWAIT, session->work_until_us, row);
    return purchase_read(session, order, SQL_PRODUCT_LOCK, purchase_row_deadline(session, order),
                         row);
}

static void pessimistic_buy(struct session *session, struct order *order)
{
    struct product_row row;

    pg_begin(session->pg);
    if (!lock_row(session, order, &row) || !purchase_allowed(session, order, &row))
        return;
    session_work_pause(session);
    purchase_write(session, order, &row);
}

const struct strategy strategy_pessimistic = {
    .name = "pessimistic",
    .usual = true,
    .summary = "SELECT … FOR UPDATE: the database locks the row while the order is decided.",
    .summary_zh = "悲观锁：SELECT … FOR UPDATE，判断期间由数据库锁住这一行",
    .family = FAMILY_DATABASE,
    .needs = NEED_POSTGRESQL,
    .guarantees = GUARANTEE_ONE | GUARANTEE_MANY | GUARANTEE_PAUSED | GUARANTEE_FORGETS,
    .mixes = true,
    LANE_OF_A_ROW,
    .buy = pessimistic_buy,
};
