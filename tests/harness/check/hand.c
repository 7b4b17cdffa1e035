/* See hand.h. */
#include "lib/t.h"

#include "harness/check/hand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct hand hand;

static const struct exact_limits limits = {.ops = 200, .budget = 200000};

void begin(int64_t stock)
{
    struct ledger_product product = {.id = HAND_PRODUCT, .stock = stock, .epoch = 9};
    ledger_fini(&hand.ledger);
    check_result_fini(&hand.result);
    ledger_add_product(&hand.ledger, &product);
    hand.ledger.done = true;
    hand.product =
        (struct row_product){.id = HAND_PRODUCT, .epoch = 9, .initial = stock, .stock = stock};
    for (size_t i = 0; i < hand.rows.orders_count; i++) {
        free(hand.orders[i].id);
        free(hand.orders[i].user);
        free(hand.orders[i].key);
    }
    hand.rows = (struct rows){.has_orders = true,
                              .products = &hand.product,
                              .products_count = 1,
                              .orders = hand.orders,
                              .restocks = hand.restocks};
}

static char *copy(const char *text)
{
    return text && *text ? strdup(text) : NULL;
}

static char *name_of(int64_t user)
{
    char *name;
    assert_true(asprintf(&name, "%" PRId64, user) > 0);
    return name;
}

struct ledger_op *last(void)
{
    return &hand.ledger.ops[hand.ledger.ops_count - 1];
}

static struct ledger_op *op(enum ledger_kind kind, int64_t start_us, int64_t end_us)
{
    struct ledger_op new = {.number = (int64_t)hand.ledger.ops_count + 1,
                            .kind = kind,
                            .start_us = start_us,
                            .end_us = end_us ? end_us : LEDGER_NEVER,
                            .product = HAND_PRODUCT};
    assert_true(ledger_add_op(&hand.ledger, &new));
    return last();
}

struct ledger_op *buy(int64_t user, const char *key, int64_t start_us, int64_t end_us)
{
    struct ledger_op *new = op(LEDGER_BUY, start_us, end_us);
    new->user = name_of(user);
    new->quantity = 1;
    new->key = copy(key);
    return new;
}

struct ledger_op *answer(struct ledger_op *to, int status, const char *code)
{
    to->status = status;
    to->result = status < 300 ? LEDGER_OK : status < 504 ? LEDGER_FAIL : LEDGER_INFO;
    snprintf(to->code, sizeof to->code, "%s", code);
    return to;
}

struct ledger_op *names(struct ledger_op *to, const char *order, enum ledger_state state)
{
    free(to->order);
    to->order = copy(order);
    to->state = state;
    return to;
}

struct row_order *row(const char *id, int64_t user, const char *key)
{
    struct row_order *new = &hand.orders[hand.rows.orders_count++];
    *new = (struct row_order){.id = copy(id),
                              .product = HAND_PRODUCT,
                              .user = name_of(user),
                              .quantity = 1,
                              .state = LEDGER_CONFIRMED,
                              .key = copy(key)};
    return new;
}

struct row_order *sold_row(const char *id, int64_t user, const char *key)
{
    hand.product.stock--;
    return row(id, user, key);
}

struct ledger_op *sell(const char *id, int64_t user, const char *key, int64_t start_us,
                       int64_t end_us)
{
    sold_row(id, user, key);
    return names(answer(buy(user, key, start_us, end_us), 201, ""), id, LEDGER_CONFIRMED);
}

struct ledger_op *refuse(int64_t user, const char *key, int64_t start_us, int64_t end_us)
{
    return answer(buy(user, key, start_us, end_us), 409, "sold_out");
}

struct ledger_op *cancel(const char *id, int64_t start_us, int64_t end_us, int status)
{
    return names(answer(op(LEDGER_CANCEL, start_us, end_us), status, ""), id,
                 status == 200 ? LEDGER_CANCELLED : LEDGER_STATE_NONE);
}

struct ledger_op *hold(const char *id, int64_t user, int64_t start_us, int64_t end_us)
{
    struct ledger_op *new = sell(id, user, NULL, start_us, end_us);
    hand.orders[hand.rows.orders_count - 1].state = LEDGER_PENDING;
    new->state = LEDGER_PENDING;
    new->hold_s = 1;
    return new;
}

void ends(const char *id, enum ledger_state state)
{
    for (size_t i = 0; i < hand.rows.orders_count; i++) {
        if (strcmp(hand.orders[i].id, id) == 0)
            hand.orders[i].state = state;
    }
    hand.product.stock++;
}

struct ledger_op *pay(const char *id, int64_t start_us, int64_t end_us, int status,
                      const char *code)
{
    return names(answer(op(LEDGER_PAY, start_us, end_us), status, code), id,
                 status == 200 ? LEDGER_CONFIRMED : LEDGER_STATE_NONE);
}

struct ledger_op *look(const char *id, int64_t start_us, int64_t end_us, enum ledger_state state)
{
    return names(answer(op(LEDGER_READ, start_us, end_us), state ? 200 : 404, ""), id, state);
}

struct ledger_op *restock(int64_t start_us, int64_t end_us, int64_t quantity)
{
    struct ledger_op *new = answer(op(LEDGER_RESTOCK, start_us, end_us), 200, "");
    new->quantity = quantity;
    return new;
}

void refill_row(int64_t quantity)
{
    hand.restocks[hand.rows.restocks_count++] = (struct row_restock){HAND_PRODUCT, quantity};
    hand.product.stock += quantity;
}

void run(void)
{
    hand.error.text[0] = '\0';
    check_result_fini(&hand.result);
    t_done(check_run(&hand.result, &hand.ledger, &hand.rows, &limits, &hand.error), hand.error);
}

void is_clean(void)
{
    run();
    if (hand.result.verdict != CHECK_CLEAN) {
        check_print(stderr, &hand.result, &hand.ledger, 5);
        fail_msg("not clean");
    }
}

void finds(enum finding_kind kind, size_t times, int64_t units)
{
    run();
    for (int i = 0; i < FINDING_KIND_COUNT; i++) {
        size_t wanted = i == (int)kind ? times : 0;
        if (hand.result.findings.counts[i] == wanted ||
            (i == FINDING_NOT_LINEARIZABLE && i != (int)kind))
            continue;
        check_print(stderr, &hand.result, &hand.ledger, 5);
        fail_msg("%s: %zu, not %zu", finding_name((enum finding_kind)i),
                 hand.result.findings.counts[i], wanted);
    }
    assert_int_equal(hand.result.findings.units[kind], units);
    assert_int_equal(hand.result.verdict, CHECK_VIOLATED);
}

void begin_clean(void)
{
    begin(2);
    sell("a", 1, "k1", 10, 20);
    names(answer(buy(1, "k1", 30, 40), 200, ""), "a", LEDGER_CONFIRMED);
    sell("b", 2, NULL, 15, 50);
    refuse(3, "k3", 60, 70);
    cancel("b", 80, 90, 200);
    ends("b", LEDGER_CANCELLED);
    look("b", 95, 96, LEDGER_CANCELLED);
    sold_row("c", 4, "k4");
    buy(4, "k4", 100, 0); /* never answered, and sold */
    buy(5, "k5", 110, 0); /* never answered, and not */
    restock(120, 130, 2);
    refill_row(2);
    sold_row("d", 6, "k6");
    names(answer(buy(6, "k6", 140, 150), 202, ""), "d", LEDGER_QUEUED);
    look("d", 160, 170, LEDGER_QUEUED);
    look("d", 180, 190, LEDGER_CONFIRMED);
    answer(buy(7, NULL, 200, 210), 503, "queue_full");
    row("e", 8, "k8")->state = LEDGER_FAILED;
    names(answer(buy(8, "k8", 220, 230), 202, ""), "e", LEDGER_QUEUED);
    look("e", 240, 250, LEDGER_FAILED);
}

int hand_tear_down(void **state)
{
    (void)state;
    begin(0);
    ledger_fini(&hand.ledger);
    return 0;
}
