#include "order/order.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct order_outcome_row rows[ORDER_OUTCOME_COUNT] = {
#define X(id, name, status, code, meaning) [ORDER_##id] = {name, status, code, meaning},
    ORDER_OUTCOMES(X)
#undef X
};

static const char *const kind_names[ORDER_KIND_COUNT] = {
    [ORDER_BUY] = "buy",
    [ORDER_CANCEL] = "cancel",
    [ORDER_RESTOCK] = "restock",
    [ORDER_EXPIRE] = "expire",
};

static const char *const status_names[] = {
    [STATUS_QUEUED] = "queued", [STATUS_CONFIRMED] = "confirmed", [STATUS_CANCELLED] = "cancelled",
    [STATUS_FAILED] = "failed", [STATUS_PENDING] = "pending",     [STATUS_EXPIRED] = "expired",
};

const struct order_outcome_row *order_outcome_row(enum order_outcome outcome)
{
    assert((unsigned)outcome < ORDER_OUTCOME_COUNT);
    return &rows[outcome];
}

enum order_outcome order_refusal_of(const char *reason)
{
    static const enum order_outcome refusals[] = {ORDER_SOLD_OUT, ORDER_LIMIT_REACHED,
                                                  ORDER_SALE_NOT_OPEN};

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (strcmp(reason, rows[refusals[i]].name) == 0)
            return refusals[i];
    return ORDER_PENDING;
}

const char *order_kind_name(enum order_kind kind)
{
    assert((unsigned)kind < ORDER_KIND_COUNT);
    return kind_names[kind];
}

const char *order_status_name(enum order_status status)
{
    assert((unsigned)status < sizeof status_names / sizeof *status_names);
    return status_names[status];
}

bool order_status_find(const char *name, enum order_status *out)
{
    for (size_t i = 0; i < sizeof status_names / sizeof *status_names; i++)
        if (strcmp(name, status_names[i]) == 0) {
            *out = (enum order_status)i;
            return true;
        }
    return false;
}

enum order_status order_returned_status(enum order_kind kind)
{
    return kind == ORDER_EXPIRE ? STATUS_EXPIRED : STATUS_CANCELLED;
}

enum order_outcome order_returned_outcome(enum order_kind kind)
{
    return kind == ORDER_EXPIRE ? ORDER_EXPIRED : ORDER_CANCELLED;
}

int order_count(const struct order *list)
{
    int count = 0;

    for (; list; list = list->next)
        count++;
    return count;
}

void order_fill_record(struct order *order, const char *strategy, enum order_status status)
{
    bool held = status == STATUS_CONFIRMED && order->hold_until_us != 0;

    order->record = (struct order_record){
        .id = order->id,
        .product_id = order->product_id,
        .user_id = order->user_id,
        .quantity = order->quantity,
        .status = held ? STATUS_PENDING : status,
        .created_us = order->created_us,
        .hold_until_us = order->hold_until_us,
    };
    snprintf(order->record.strategy, sizeof order->record.strategy, "%s", strategy);
}
