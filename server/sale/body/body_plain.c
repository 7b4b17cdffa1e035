/* See body_plain.h. */
#include "sale/body/body_plain.h"

#include "base/failpoint.h"
#include "sale/purchase_write.h"
#include "sale/restock.h"

/* The row was read: the moment in which another writes it. False: the lease is lost. */
static bool pause(struct session *session, struct order *order)
{
    FAILPOINT("body.after-read");
    session_work_pause(session);
    return !session_lease_lost(session) || purchase_refuse(session, order, ORDER_LEASE_LOST);
}

static bool read_row(struct session *session, struct order *order, struct product_row *row)
{
    pg_begin(session->pg);
    return purchase_read(session, order, SQL_PRODUCT_READ, session->work_until_us, row);
}

bool body_plain_decide(struct session *session, struct order *order, struct product_row *row)
{
    return read_row(session, order, row) && purchase_allowed(session, order, row) &&
           pause(session, order);
}

void body_plain(struct session *session, struct order *order)
{
    struct product_row row;

    if (body_plain_decide(session, order, &row))
        purchase_write(session, order, &row);
}

bool body_plain_restock(struct session *session, struct order *order)
{
    struct product_row row;

    return read_row(session, order, &row) && pause(session, order) &&
           purchase_set_stock(session, order, &row, row.stock + order->quantity) &&
           purchase_restock_finish(session, order, row.epoch);
}
