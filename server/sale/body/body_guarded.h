/*
 * The guarded body: the decision and the write are one statement.
 *
 * UPDATE … SET stock = stock - q WHERE stock >= q takes the row's lock and looks at its newest
 * figure, so there is no gap to protect. Where the product has no limit and the order no key, the
 * same statement feeds the order's INSERT: one round trip, one flush. Otherwise a short transaction
 * writes product, limit and order and rolls back when any of them matches no row; two halves of one
 * statement would not undo each other.
 *
 * 0 rows has many reasons: the row is read again to say which. A lost reply of the one statement
 * leaves it unknown whether it ran; it is settled by the order's id. The statement names the sale
 * (fast_path.h), so a product's first order in a process, and the first after a PUT, learns that on
 * the longer way.
 */
#ifndef SECKILL_SALE_BODY_GUARDED_H
#define SECKILL_SALE_BODY_GUARDED_H

#include "sale/purchase.h"

void body_guarded(struct session *session, struct order *order);
/* Whether conditional_buy can be all of it, as far as is known. */
bool body_guarded_fits(const struct session *session, const struct order *order);

#endif
