#include "postgres/records.h"

void order_record_read(const struct pg *pg, int row, struct order_record *out)
{
    out->id = pg_get_uuid(pg, row, 0);
    out->product_id = pg_get_int8(pg, row, 1);
    out->user_id = pg_get_int8(pg, row, 2);
    out->quantity = pg_get_int8(pg, row, 3);
    pg_get_text(pg, row, 4, out->strategy, sizeof out->strategy);
    out->status = (enum order_status)pg_get_int2(pg, row, 5);
    pg_get_text(pg, row, 6, out->reason, sizeof out->reason);
    out->created_us = pg_get_time(pg, row, 7);
}
