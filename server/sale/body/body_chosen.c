#include "sale/body/body_chosen.h"

#include "sale/body/body_guarded.h"
#include "sale/body/body_plain.h"
#include "sale/restock.h"

void body_chosen_buy(struct session *session, struct order *order)
{
    if (order->body == BODY_GUARDED)
        body_guarded(session, order);
    else
        body_plain(session, order);
}

bool body_chosen_restock(struct session *session, struct order *order)
{
    return order->body == BODY_GUARDED ? purchase_restock(session, order)
                                       : body_plain_restock(session, order);
}
