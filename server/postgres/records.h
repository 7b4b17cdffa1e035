/* Rows of the statements that return whole orders (order_read and its family). */
#ifndef SECKILL_STORE_RECORDS_H
#define SECKILL_STORE_RECORDS_H

#include "order/order.h"
#include "postgres/pg.h"

enum { ORDER_RECORD_EPOCH = 8 }; /* the column after what struct order_record holds */

void order_record_read(const struct pg *pg, int row, struct order_record *out);

#endif
