/*
 * The plain body: SELECT stock; decide; UPDATE … SET stock = <the absolute figure>; insert the
 * order; commit.
 *
 * This is what the seed articles run under their locks. Between the SELECT and the UPDATE nothing
 * in the database protects the figure: two that read the same stock both write "one less", and one
 * sale is lost from the count. It is as safe as the lock around it, no safer.
 */
#ifndef SECKILL_SALE_BODY_PLAIN_H
#define SECKILL_SALE_BODY_PLAIN_H

#include "sale/purchase.h"

void body_plain(struct session *session, struct order *order);
/* The first half of it: read and decided, nothing written; purchase_write is the other. */
bool body_plain_decide(struct session *session, struct order *order, struct product_row *row);

/* The same way for a restock, as unsafe without a lock. True: it is committed. */
bool body_plain_restock(struct session *session, struct order *order);

#endif
