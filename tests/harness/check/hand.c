/* See hand.h. */
#include "lib/t.h"

#include "harness/check/hand.h"
#include "loadtest/base/pool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000

struct hand hand;

static char step[120]; /* of the scene: what happens now */
static char *words[8]; /* of it; "" behind the last */

static const struct exact_limits limits = {.ops = 200, .budget = 200000};

int hand_tear_down(void **state)
{
    (void)state;
    ledger_fini(&hand.ledger);
    rows_fini(&hand.rows);
    findings_fini(&hand.result.findings);
    return 0;
}

void begin(int64_t stock)
{
    struct ledger_product product = {.id = HAND_PRODUCT, .stock = stock, .epoch = 9};
    hand_tear_down(NULL);
    ledger_add_product(&hand.ledger, &product);
    hand.ledger.done = true;
    hand.rows.has_orders = true;
    array_add(&hand.rows.products, &hand.rows.products_count, sizeof *hand.rows.products);
    *hand.rows.products =
        (struct row_product){.id = HAND_PRODUCT, .epoch = 9, .initial = stock, .stock = stock};
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

static struct ledger_op *last(void)
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
    return ledger_add_op(&hand.ledger, &new);
}

static struct ledger_op *buy(int64_t user, const char *key, int64_t start_us, int64_t end_us)
{
    struct ledger_op *new = op(LEDGER_BUY, start_us, end_us);
    new->user = name_of(user);
    new->quantity = 1;
    new->key = copy(key);
    return new;
}

static struct ledger_op *answer(struct ledger_op *to, int status, const char *code)
{
    to->status = status;
    to->result = status < 300 ? LEDGER_OK : status < 504 ? LEDGER_FAIL : LEDGER_INFO;
    snprintf(to->code, sizeof to->code, "%s", code);
    return to;
}

static struct ledger_op *names(struct ledger_op *to, const char *order, enum ledger_state state)
{
    free(to->order);
    to->order = copy(order);
    to->state = state;
    return to;
}

static struct row_order *row(const char *id, int64_t user, const char *key)
{
    struct row_order *new = rows_add_order(&hand.rows);
    new->id = copy(id);
    new->product = HAND_PRODUCT;
    new->user = name_of(user);
    new->quantity = 1;
    new->key = copy(key);
    return new;
}

static struct row_order *sold_row(const char *id, int64_t user, const char *key)
{
    hand.rows.products->stock--;
    return row(id, user, key);
}

struct ledger_op *sell(const char *id, int64_t user, const char *key, int64_t start_us,
                       int64_t end_us)
{
    sold_row(id, user, key);
    return names(answer(buy(user, key, start_us, end_us), 201, ""), id, LEDGER_CONFIRMED);
}

static struct ledger_op *hold(const char *id, int64_t user, int64_t start_us, int64_t end_us)
{
    struct ledger_op *new = sell(id, user, NULL, start_us, end_us);
    hand.rows.orders[hand.rows.orders_count - 1].state = LEDGER_PENDING;
    new->state = LEDGER_PENDING;
    new->hold_s = 1;
    return new;
}

static void ends(const char *id, enum ledger_state state)
{
    for (size_t i = 0; i < hand.rows.orders_count; i++) {
        if (strcmp(hand.rows.orders[i].id, id) == 0)
            hand.rows.orders[i].state = state;
    }
    hand.rows.products->stock++;
}

static void is_number(const char *what, int64_t is, int64_t wanted)
{
    if (is != wanted)
        fail_msg("%s: %s is %" PRId64 ", not %" PRId64, step, what, is, wanted);
}

static void run(void)
{
    hand.error.text[0] = '\0';
    findings_fini(&hand.result.findings);
    t_done(check_run(&hand.result, &hand.ledger, &hand.rows, &limits, &hand.error), hand.error);
}

void is_clean(void)
{
    run();
    if (hand.result.verdict != CHECK_CLEAN) {
        check_print(stderr, &hand.result, &hand.ledger, 5);
        fail_msg("%s: not clean", step);
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
        fail_msg("%s: %s: %zu, not %zu", step, finding_name((enum finding_kind)i),
                 hand.result.findings.counts[i], wanted);
    }
    is_number("units", hand.result.findings.units[kind], units);
    is_number("verdict", hand.result.verdict, CHECK_VIOLATED);
}

/* --- scenes --- */

static bool verb(const char *word)
{
    return strcmp(words[0], word) == 0;
}

/* "7", "-2", and of a time "2s+10": behind two seconds. */
static int64_t number(size_t i)
{
    char *end;
    double value = strtod(words[i], &end);
    if (*end != 's')
        return (int64_t)value;
    return (int64_t)(value * SECOND) + strtoll(end + 1, NULL, 10);
}

/* "-": none. */
static const char *text(size_t i)
{
    return strcmp(words[i], "-") == 0 ? "" : words[i];
}

static enum ledger_state state_of(const char *name)
{
    int state = strcmp(name, "none") == 0 ? 0 : ledger_state_of(name);
    if (state < 0)
        fail_msg("%s: no state %s", step, name);
    return (enum ledger_state)state;
}

static enum finding_kind kind_of(const char *name)
{
    static const char *const ids[] = {
#define CLAIM(id, number, wrong, means, name, needs, find, tested) #id,
#include "loadtest/judge/claims/claims.def"
#undef CLAIM
    };
    int kind = 0;
    while (kind < FINDING_KIND_COUNT && strcmp(ids[kind], name) != 0)
        kind++;
    if (kind == FINDING_KIND_COUNT)
        fail_msg("%s: no finding %s", step, name);
    return (enum finding_kind)kind;
}

/* Of an order: ID BEGIN END, and perhaps a code at last; where it was done it is in this state. */
static void ask(enum ledger_kind kind, int status, enum ledger_state done)
{
    const char *code = kind == LEDGER_PAY ? words[5] : "";
    names(answer(op(kind, number(2), number(3)), status, code), words[1],
          status == 200 ? done : LEDGER_STATE_NONE);
}

static void refill(int64_t quantity)
{
    hand.rows.products->restocked += quantity;
    hand.rows.products->stock += quantity;
}

/* An operation or a row. */
static bool comes(void)
{
    if (verb("begin"))
        begin(number(1));
    else if (verb("sell"))
        sell(words[1], number(2), text(3), number(4), number(5));
    else if (verb("buy"))
        buy(number(1), text(2), number(3), number(4));
    else if (verb("refuse"))
        answer(buy(number(1), text(2), number(3), number(4)), 409, "sold_out");
    else if (verb("hold"))
        hold(words[1], number(2), number(3), number(4));
    else if (verb("pay"))
        ask(LEDGER_PAY, (int)number(4), LEDGER_CONFIRMED);
    else if (verb("cancel"))
        ask(LEDGER_CANCEL, (int)number(4), LEDGER_CANCELLED);
    else if (verb("look"))
        ask(LEDGER_READ, state_of(words[4]) ? 200 : 404, state_of(words[4]));
    else if (verb("restock"))
        answer(op(LEDGER_RESTOCK, number(1), number(2)), 200, "")->quantity = number(3);
    else if (verb("refill"))
        refill(number(1));
    else if (verb("sold"))
        sold_row(words[1], number(2), text(3));
    else if (verb("row"))
        row(words[1], number(2), text(3))->state = state_of(words[4]);
    else if (verb("ends"))
        ends(words[1], state_of(words[2]));
    else
        return false;
    return true;
}

static void set_op(struct ledger_op *op, const char *member, size_t value)
{
    if (strcmp(member, "from") == 0)
        op->start_us = number(value);
    else if (strcmp(member, "until") == 0)
        op->end_us = number(value);
    else if (strcmp(member, "units") == 0)
        op->quantity = number(value);
    else if (strcmp(member, "fence") == 0)
        op->fence = number(value);
    else if (strcmp(member, "hold_s") == 0)
        op->hold_s = number(value);
    else if (strcmp(member, "status") == 0)
        op->status = (int)number(value);
    else if (strcmp(member, "state") == 0)
        op->state = state_of(words[value]);
    else if (strcmp(member, "named") == 0)
        op->named = strdup(words[value]);
    else
        fail_msg("%s: what is %s?", step, member);
}

static void set_order(struct row_order *order, const char *member)
{
    if (strcmp(member, "units") == 0)
        order->quantity = number(3);
    else if (strcmp(member, "state") == 0)
        order->state = state_of(words[3]);
    else if (strcmp(member, "told") == 0)
        order->told = state_of(words[3]);
    else if (strcmp(member, "overdue") == 0)
        order->overdue = true;
    else if (strcmp(member, "lost") == 0)
        order->lost = true;
    else
        fail_msg("%s: what is %s?", step, member);
}

static void forget_key(char **key)
{
    free(*key);
    *key = NULL;
}

/* Something that is there already. */
static bool changes(void)
{
    if (verb("answer"))
        answer(last(), (int)number(1), words[2]);
    else if (verb("names"))
        names(last(), text(1), state_of(words[2]));
    else if (verb("last"))
        set_op(last(), words[1], 2);
    else if (verb("first"))
        set_op(&hand.ledger.ops[0], words[1], 2);
    else if (verb("order"))
        set_order(&hand.rows.orders[number(1)], words[2]);
    else if (verb("keyless")) {
        forget_key(&last()->key);
        forget_key(&hand.rows.orders[hand.rows.orders_count - 1].key);
    } else if (verb("unknown")) {
        last()->result = LEDGER_INFO;
        last()->state = LEDGER_STATE_NONE;
    } else if (verb("left"))
        hand.rows.products->stock += number(1);
    else if (verb("limit"))
        hand.ledger.products[0].limit = number(1);
    else if (verb("row_limit"))
        hand.rows.products->limit = number(1);
    else
        return false;
    return true;
}

static void is_counted(const char *what, int64_t wanted)
{
    const struct check_result *result = &hand.result;
    const struct {
        const char *name;
        size_t count;
    } counts[] = {
        {"confirmed", result->confirmed},
        {"pending", result->pending},
        {"expired", result->expired},
        {"paid", result->paid},
        {"too_late", result->too_late},
        {"sold_out", result->sold_out},
        {"info", result->results[LEDGER_INFO]},
        {"exact", result->exact[EXACT_YES]},
        {"not_tried", result->exact[EXACT_NOT_TRIED]},
        {"shown", result->findings.count ? result->findings.items[0].ops_count : 0},
        {"proved_nothing", result->verdict == CHECK_PROVED_NOTHING},
    };
    size_t i = 0;
    while (i < sizeof counts / sizeof *counts && strcmp(counts[i].name, what) != 0)
        i++;
    if (i == sizeof counts / sizeof *counts)
        fail_msg("%s: what is %s?", step, what);
    else
        is_number(what, (int64_t)counts[i].count, wanted);
}

static bool is_seen(void)
{
    if (verb("run"))
        run();
    else if (verb("clean"))
        is_clean();
    else if (verb("finds"))
        finds(kind_of(words[1]), (size_t)number(2), number(3));
    else if (verb("counts"))
        is_number(words[1], (int64_t)hand.result.findings.counts[kind_of(words[1])], number(2));
    else if (verb("is"))
        is_counted(words[1], number(2));
    else
        return false;
    return true;
}

void happens(const char *all)
{
    static char empty[] = "";
    char copied[2000], split[sizeof step], *rest = NULL;
    snprintf(copied, sizeof copied, "%s", all);
    assert_true(strlen(all) < sizeof copied);
    for (char *one = strtok_r(copied, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
        char *more = NULL;
        snprintf(step, sizeof step, "%s", one + strspn(one, " "));
        snprintf(split, sizeof split, "%s", step);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            words[i] = strtok_r(i ? NULL : split, " ", &more);
            words[i] = words[i] ? words[i] : empty;
        }
        if (*words[0] && !comes() && !changes() && !is_seen())
            fail_msg("%s: nothing is called so", step);
    }
    step[0] = '\0';
}

static void play(void **state)
{
    const struct scene *scene = *state;
    happens(scene->happens);
}

void scenes_add(struct scene *scenes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        t_add((struct CMUnitTest){scenes[i].name, play, NULL, NULL, &scenes[i]}, false);
}
