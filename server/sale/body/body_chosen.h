/* The body that the request chose: what a strategy runs whose lock stands around it. */
#ifndef SECKILL_SALE_BODY_CHOSEN_H
#define SECKILL_SALE_BODY_CHOSEN_H

#include "strategy/session.h"

/* In a strategy's row. */
#define BODY_CHOSEN .bodies = true, .buy = body_chosen_buy, .restock = body_chosen_restock

void body_chosen_buy(struct session *session, struct order *order);
bool body_chosen_restock(struct session *session, struct order *order);

#endif
