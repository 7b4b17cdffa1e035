/*
 * A shop's claims by hand-made histories, a scene each: a claim is seen to hold, to break with the
 * example that shows it, and to be left unchecked for its reason. And what --fail-if and a JUnit
 * file make of such a sale: which purchase counts as what, and which case passes, fails or is left
 * out.
 */
#include "lib/t.h"
#include "loadtest/shop/sale/told.h"

#include <stdlib.h>
#include <string.h>

/*
 * What happens, and what is to be seen then. It happens in these words, with ';' between:
 *
 *     told USER MEANING [ORDER [BECAME]]
 *                                  an answer; `again`: of a repeat; `before`: of a step
 *     due AT, sent AT, end AT      the last of them; `end 0`: it has no answer
 *     row ID USER UNITS            in the books; "-" is not named
 *     left N, stock N, limit N     in the books; of the target
 *     no rows                      the audit names no orders
 *     pointer                      the target says where an answer has the order's id
 *     unasked CLAIM                the target does not ask for it
 *     meanwhile                    all of it so far was asked for at once
 *     polled, audited              the target asks for what was accepted; names the orders
 */
struct look {
    const char *happens;
    /* A claim, "each", "others" than one_a_key, "verdict"; one of --fail-if's measures,
     * "per s": the purchases; "missing": a measure; "case NAME" of JUnit's, "cases" in all. */
    const char *at;
    const char *is;
    const char *said; /* stands in a claim's text or a case's, is a verdict's; "": any does */
};

/* Two units sold to two users of whom one asked again, by its key and by another, a third told sold
 * out: all of it right. */
#define A_RIGHT_SALE                                                                               \
    "told 1 sold a; again 1 sold a; told 1 refused; told 2 sold b; told 3 sold_out; "              \
    "row a 1 1; row b 2 1; left 0; "

static struct scene {
    const char *name;
    struct look looks[7];
} scenes[] = {
    {"test_a_right_sale_keeps_every_claim",
     {{A_RIGHT_SALE, "each", "kept", ""},
      {"", "verdict", "kept", "9 of 9 claims were checked, and all of these hold"}}},
    {"test_more_units_than_stock",
     {{A_RIGHT_SALE "told 4 sold c; row c 4 1", "never_oversold", "BROKEN",
       "3 units in 3 orders, 2 were on sale: 1 too many, the first of them order c of user 4"},
      {"", "conserved", "BROKEN", ""}}},
    {"test_units_count_not_orders",
     {{"limit 0; told 1 sold a; row a 1 3", "never_oversold", "BROKEN", "3 units in 1 orders"}}},
    {"test_a_stock_below_nothing",
     {{A_RIGHT_SALE "left -1", "never_oversold", "BROKEN", "-1 are left"}}},
    {"test_more_buyers_told_than_there_was_stock",
     {{A_RIGHT_SALE "told 4 sold c", "never_oversold", "BROKEN",
       "3 buyers were told that they bought"}}},
    {"test_the_same_order_told_twice_is_one",
     {{A_RIGHT_SALE "told 1 sold a; told 2 sold b", "never_oversold", "kept", "2 units"}}},
    {"test_a_stock_that_lasts_shows_no_oversale",
     {{A_RIGHT_SALE "stock 5; left 3", "never_oversold", "not checked", "2 of 5 units were sold"},
      {"unasked nothing_left; unasked linearizable", "verdict", "INVALID",
       "the stock did not run out: more buyers, or less stock"}}},
    {"test_a_user_with_two",
     {{"told 1 sold a; told 1 sold b; row a 1 1; row b 1 1", "one_a_user", "BROKEN",
       "user 1 has 2 units, of 1 at the most: orders a and b"},
      {"limit 2", "one_a_user", "not checked", "asked for more than 2 by another key"},
      {"told 1 refused", "one_a_user", "kept", "no user has more than 2; 1 purchases"},
      {"limit 0", "one_a_user", "not checked", "no limit"}}},
    /* What puts no limit to the test: the same key again, what was asked before the first was sold,
     * and what came when nothing was left. */
    {"test_what_tries_no_limit",
     {{"told 1 refused; told 1 sold a; again 1 refused; told 2 sold b; told 1 shed; "
       "told 3 sold_out; told 2 refused; row a 1 1; row b 2 1",
       "one_a_user", "not checked", "nobody who had been told `sold`"}}},
    /* One order that names nobody hides no user who has two. */
    {"test_a_user_with_two_beside_one_without_a_user",
     {{"told 1 sold a; row a 1 1; row c - 1", "one_a_user", "not checked",
       "does not name the orders' users"},
      {"row b 1 1", "one_a_user", "BROKEN",
       "user 1 has 2 units, of 1 at the most: orders a and b"}}},
    /* A target whose pointer to the order's id meets nothing. */
    {"test_no_answer_has_its_order",
     {{"told 1 sold; told 2 sold; row a 1 1; row b 2 1", "sold_has_its_row", "kept",
       "0 by its id, 2 by its user"},
      {"pointer", "sold_has_its_row", "not checked",
       "none of 2 `sold` answers has anything at /orderid"}}},
    {"test_sold_without_an_order",
     {{"told 1 sold a; told 2 sold b; row a 1 1", "sold_has_its_row", "BROKEN",
       "1 of 2 answers `sold` have no order; user 2 was told order b: there is no such order"}}},
    {"test_sold_without_an_order_by_user",
     {{"told 1 sold; told 2 sold; row - 1 1", "sold_has_its_row", "BROKEN",
       "user 2 was told order (no id): its user has no order"},
      {"row - 2 1", "sold_has_its_row", "kept", "2 answers"}}},
    {"test_sold_another_users_order",
     {{"told 1 sold a; told 2 sold a; row a 1 1; row b 2 1", "sold_has_its_row", "BROKEN",
       "user 2 was told order a: that order is another"}}},
    {"test_an_order_behind_a_no",
     {{A_RIGHT_SALE "told 4 refused", "nothing_behind_a_no", "kept", "2 users were refused"},
      {"row d 4 1", "nothing_behind_a_no", "BROKEN",
       "1 users have an order and were refused each time; user 4 has order d"}}},
    /* One no among other answers says nothing about an order. */
    {"test_an_order_behind_what_is_not_known",
     {{A_RIGHT_SALE "limit 0; stock 3; told 4 refused; told 4 unknown; row d 4 1",
       "nothing_behind_a_no", "kept", "1 users"},
      {"", "verdict", "kept", ""}}},
    {"test_told_sold_out_and_some_left",
     {{"told 1 sold a; told 2 sold_out; row a 1 1", "nothing_left", "BROKEN",
       "only 1 of 2 units are in orders"},
      {"left 1", "nothing_left", "BROKEN",
       "1 answers `sold_out`, user 2's the first, and 1 are left"}}},
    /* In the end nothing is left; but it was there when somebody was told that it was not. */
    {"test_told_sold_out_and_sold_later",
     {{"told 1 sold a; told 2 sold_out; told 3 sold b; row a 1 1; row b 3 1; left 0",
       "no_false_sold_out", "BROKEN", "sold out for 1, which were free all the while"},
      {"", "linearizable", "BROKEN", "these 2 operations have no order that explains them"},
      {"", "nothing_left", "kept", ""},
      {"told 4 accepted c", "linearizable", "BROKEN", ""}}},
    /* Somebody who was refused for another reason may have had the unit at the time. */
    {"test_told_sold_out_while_another_may_have_had_it",
     {{"told 1 sold a; told 4 refused; told 2 sold_out; meanwhile; told 3 sold b; row a 1 1; "
       "row b 3 1; left 0",
       "no_false_sold_out", "kept", "1 answers `sold_out`"},
      {"", "linearizable", "kept", "one order of the 4 purchases"}}},
    /* When it was sold nobody knows who bought by which answer. */
    {"test_orders_that_no_answer_leads_to",
     {{"told 1 sold; told 2 sold_out; told 3 sold; row a - 1; row b - 1; left 0",
       "no_false_sold_out", "not checked", "when 2 of 2 orders were made nobody knows"},
      {"", "linearizable", "not checked", "or that no answer leads to"}}},
    {"test_units_that_are_lost",
     {{"told 1 sold a; row a 1 1; left 0", "conserved", "BROKEN",
       "0 left and 1 in orders are 1, 2 were there: 1 units are gone that nobody bought"},
      {"left 2", "conserved", "BROKEN", "1 units were sold that the stock never lost"}}},
    {"test_a_key_with_two_orders",
     {{"limit 0; told 1 sold a; again 1 sold b; row a 1 1; row b 1 1", "one_a_key", "BROKEN",
       "key 1-0 of user 1 was told two orders, a and b"}}},
    /* The repeat's answer was lost: the rows say it. */
    {"test_a_key_with_two_rows",
     {{"limit 0; told 1 sold a; again 1 unknown; row a 1 1; row b 1 1", "one_a_key", "BROKEN",
       "1 users have more orders than they sent keys; user 1 sent 1 and has orders a and b"}}},
    {"test_nothing_sold_is_no_pass",
     {{"told 1 refused; left 2", "verdict", "INVALID", "nothing was sold, so nothing was shown"}}},
    {"test_orders_of_somebody_else",
     {{A_RIGHT_SALE "stock 3; row z 77 1", "verdict", "INVALID",
       "order z is of user 77, who did not ask: somebody else buys, or the reset leaves orders"}}},
    {"test_an_audit_that_names_nothing",
     {{"no rows; told 1 sold a; again 1 sold; told 2 sold_out", "others", "not checked", ""},
      {"unasked one_a_key", "verdict", "INVALID", "no claim could be checked"}}},
    {"test_a_claim_that_is_not_asked_is_not_judged",
     {{A_RIGHT_SALE "row c 4 1; unasked never_oversold; unasked conserved", "never_oversold", "",
       ""},
      {"", "verdict", "INVALID", ""}}},
    /* A step before it failed: the shop was never asked, so its user's order is a stranger's. */
    {"test_what_was_never_asked", {{A_RIGHT_SALE "before 4 unknown", "verdict", "kept", ""}}},
    /* A step said no: it counts as any no, and a user who got nothing else has no order. */
    {"test_a_no_before_the_purchase",
     {{A_RIGHT_SALE "before 4 refused; before 1 sold_out", "nothing_behind_a_no", "kept",
       "2 users were refused each time"},
      {"", "nothing_left", "kept", "2 answers `sold_out`"},
      {"row c 4 1", "nothing_behind_a_no", "BROKEN", "user 4 has order c"}}},
    /* It puts no limit to the test: the shop was not asked to sell. Nor does what was shed there.
     */
    {"test_a_no_before_the_purchase_asks_for_nothing",
     {{"told 1 sold a; told 2 sold b; before 1 refused; before 2 shed; row a 1 1; row b 2 1; "
       "left 0",
       "one_a_user", "not checked", "nobody who had been told `sold`"},
      {"", "nothing_behind_a_no", "not checked", "no user was refused for good"},
      {"stock 3; before 4 shed; row d 4 1", "verdict", "INVALID",
       "order d is of user 4, who did not ask: somebody else buys, or the reset leaves orders"}}},
    {"test_each_purchase_is_counted_for_what_became_of_it",
     {{"told ann sold 1; told bob accepted 2 sold; told cid accepted 3 sold_out; told dan refused; "
       "told eve shed; told fay unknown; told gus accepted 4; row 1 ann 1; row 2 bob 3",
       "orders", "7", ""},
      {"", "committed", "2", ""},
      {"", "accepted", "3", ""},
      {"", "refused", "2", ""},
      {"", "failed", "2", ""},
      {"", "per s", "3.5", ""}}},
    /* Only who asks for the end of an order can miss it. */
    {"test_what_is_never_decided_failed_where_it_is_asked_for",
     {{"told ann accepted 1", "failed", "0", ""}, {"polled", "failed", "1", ""}}},
    /* From when it was due, not from when it was sent; what has no answer has no time. */
    {"test_times_are_those_of_the_first_answer",
     {{"told ann sold 1; due 1000000; sent 1400000; end 1500000; told bob unknown; due 1000000; "
       "end 0",
       "max", "500000", ""},
      {"", "p50", "500000", ""}}},
    {"test_what_is_missing_is_what_the_audit_lacks",
     {{"", "missing", "committed", ""}, {"audited", "missing", "", ""}}},
    {"test_a_broken_claim_is_a_failure",
     {{"told ann sold 1; told bob sold 2; told cid sold 3; row 1 ann 1; row 2 bob 1; row 3 cid 1",
       "case never_oversold", "failure",
       "type=\"BROKEN\">3 units in 3 orders, 2 were on sale: 1 too many"},
      {"", "case sold_has_its_row", "system-out", ""},
      {"", "case nothing_left", "skipped", "type=\"not checked\">"},
      {"", "case verdict", "failure", "type=\"BROKEN\">"}}},
    /* All but one, and the verdict. */
    {"test_a_sale_of_nothing_is_an_error",
     {{"unasked one_a_key; told ann shed; left 2", "case verdict", "error", "type=\"INVALID\">"},
      {"", "cases", "9", ""}}},
};

/* --- the sale --- */

static struct {
    struct target target; /* its texts are borrowed: no target_fini */
    struct sale sale;
} shop;

static void sells(int64_t stock, int64_t limit)
{
    shop.target.stock = shop.sale.ledger.products[0].stock = stock;
    shop.target.limit = shop.sale.ledger.products[0].limit = limit;
}

/* Two units of stock, one a user; every claim is to be judged. */
static int begin(void **state)
{
    (void)state;
    memset(&shop, 0, sizeof shop);
    shop.sale.ledger = (struct ledger){.shop = strdup("ours"),
                                       .load = {.began_us = 1000000, .ended_us = 3000000},
                                       .books = {.has_orders = true}};
    ledger_add_product(&shop.sale.ledger, &(struct ledger_product){.id = 7});
    sells(2, 1);
    for (size_t i = 0; i < FINDING_KIND_COUNT; i++)
        shop.target.claims[i] = true;
    return 0;
}

static int end(void **state)
{
    (void)state;
    sale_fini(&shop.sale);
    return 0;
}

static char *copy_text(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    assert_true(copy || !text);
    return copy;
}

static struct ledger_op *add(const char *user, const char *key, enum shop_meaning meaning,
                             const char *order)
{
    int64_t number = (int64_t)shop.sale.ledger.ops_count + 1;
    struct ledger_op op = {.number = number,
                           .kind = LEDGER_BUY,
                           .user = copy_text(user),
                           .start_us = 10 * number,
                           .end_us = 10 * number + 5,
                           .key = copy_text(key),
                           .order = copy_text(order)};
    ledger_op_means(&op, meaning);
    return ledger_add_op(&shop.sale.ledger, &op);
}

/* The key is the user's own with a number behind it. */
static struct ledger_op *told(const char *user, enum shop_meaning meaning, const char *order)
{
    return add(user, t_text("%s-%zu", user, shop.sale.ledger.ops_count), meaning, order);
}

/* By the key of the same user's last purchase. */
static void told_again(const char *user, enum shop_meaning meaning, const char *order)
{
    const char *key = NULL;
    for (size_t i = 0; i < shop.sale.ledger.ops_count; i++) {
        if (strcmp(shop.sale.ledger.ops[i].user, user) == 0)
            key = shop.sale.ledger.ops[i].key;
    }
    assert_non_null(key);
    add(user, key, meaning, order)->repeat = true;
}

static void add_row(const char *id, const char *user, int64_t units)
{
    struct row_order *row = rows_add_order(&shop.sale.ledger.books);
    assert_non_null(row);
    row->id = copy_text(id);
    row->user = copy_text(user);
    row->quantity = units;
}

/* --- what happens --- */

static enum shop_meaning meaning_named(const char *name)
{
    int known = shop_meaning_named(name);
    if (known < 0)
        fail_msg("no meaning %s", name);
    return (enum shop_meaning)known;
}

static const char *or_null(const char *word)
{
    return *word && strcmp(word, "-") != 0 ? word : NULL;
}

static void unask(const char *claim)
{
    for (enum finding_kind i = 0; i < FINDING_KIND_COUNT; i++) {
        if (strcmp(claim_name(i), claim) == 0) {
            shop.target.claims[i] = false;
            return;
        }
    }
    fail_msg("no claim %s", claim);
}

static void at_once(void)
{
    for (size_t i = 0; i < shop.sale.ledger.ops_count; i++)
        shop.sale.ledger.ops[i].start_us = 1;
}

static void happen(const char *text)
{
    static struct shop_rule rule = {.meaning = SHOP_SOLD, .order = "/orderid"};
    struct ledger *ledger = &shop.sale.ledger;
    struct ledger_op *last = ledger->ops_count ? &ledger->ops[ledger->ops_count - 1] : NULL;
    char verb[16] = "", one[24] = "", two[16] = "", three[16] = "", four[16] = "";
    if (sscanf(text, "%15s %23s %15s %15s %15s", verb, one, two, three, four) < 1)
        return;
    int64_t number = strtoll(one, NULL, 10);
    if (strcmp(verb, "told") == 0) {
        last = told(one, meaning_named(two), or_null(three));
        last->last = *four ? meaning_named(four) : last->first;
    } else if (strcmp(verb, "again") == 0)
        told_again(one, meaning_named(two), or_null(three));
    else if (strcmp(verb, "before") == 0)
        told(one, meaning_named(two), NULL)->unasked = true;
    else if (strcmp(verb, "due") == 0 && last)
        last->due_us = number;
    else if (strcmp(verb, "sent") == 0 && last)
        last->start_us = number;
    else if (strcmp(verb, "end") == 0 && last)
        last->end_us = number ? number : LEDGER_NEVER;
    else if (strcmp(verb, "row") == 0)
        add_row(or_null(one), or_null(two), strtoll(three, NULL, 10));
    else if (strcmp(verb, "left") == 0) {
        ledger->books.has_left = true;
        ledger->books.left = number;
    } else if (strcmp(verb, "stock") == 0)
        sells(number, shop.target.limit);
    else if (strcmp(verb, "limit") == 0)
        sells(shop.target.stock, number);
    else if (strcmp(verb, "no") == 0)
        ledger->books.has_orders = false;
    else if (strcmp(verb, "meanwhile") == 0)
        at_once();
    else if (strcmp(verb, "pointer") == 0) {
        shop.target.purchase.rules = &rule;
        shop.target.purchase.rule_count = 1;
    } else if (strcmp(verb, "unasked") == 0)
        unask(one);
    else if (strcmp(verb, "polled") == 0)
        shop.target.poll.method = "GET";
    else if (strcmp(verb, "audited") == 0)
        shop.target.orders.sql = "SELECT 1";
    else
        fail_msg("nothing is called %s", verb);
}

/* --- what is to be seen --- */

static void expect_verdict(const struct shop_judgement *judged, const struct look *look)
{
    if (strcmp(shop_verdict_name(judged->verdict), look->is) != 0 ||
        (*look->said && strcmp(judged->why, look->said) != 0))
        fail_msg("%s: %s", shop_verdict_name(judged->verdict), judged->why);
}

/* A broken one makes the whole BROKEN. */
static void expect_claim(const struct shop_judgement *judged, enum finding_kind claim,
                         const struct look *look)
{
    const struct claim_finding *finding = &judged->claims[claim];
    const char *result = claim_result_name(finding->result);
    if (strcmp(result, look->is) != 0 || !strstr(finding->text, look->said))
        fail_msg("%s: %s: %s", claim_name(claim), result, finding->text);
    if (finding->result == CLAIM_BROKEN)
        assert_int_equal(judged->verdict, SHOP_VERDICT_BROKEN);
}

static const char *const measures[THRESHOLD_MEASURES] = {
    "p50", "p90", "p99", "max", "orders", "committed", "accepted", "refused", "failed"};

static void expect_missing(const char *name)
{
    const char *missing[THRESHOLD_MEASURES];
    told_missing(&shop.target, missing);
    for (size_t i = 0; i < THRESHOLD_MEASURES; i++)
        assert_int_equal(missing[i] != NULL, strcmp(measures[i], name) == 0);
}

/* The cases go into a file that is thrown away. `name` NULL: how many there are. */
static void expect_case(const char *name, const struct look *look)
{
    struct junit junit;
    struct error error;
    t_done(junit_open(&junit, "/dev/null", &error), error);
    told_add_cases(&junit, &shop.sale);
    fflush(junit.cases);
    if (name) {
        const char *at = strstr(junit.text, t_text(" name=\"%s\"", name));
        assert_non_null(at);
        const char *line = t_text("%.*s", (int)strcspn(at, "\n"), at);
        t_says(line, t_text("</%s>", look->is));
        t_says(line, look->said);
    } else {
        assert_int_equal(junit.count, strtoll(look->is, NULL, 10));
    }
    assert_true(junit_close(&junit, "a shop", &error));
}

/* Looks at other things than claims. False: the look is at one. */
static bool see_other(const struct look *look)
{
    const struct measured *measured = &shop.sale.measured;
    if (strcmp(look->at, "verdict") == 0)
        expect_verdict(&shop.sale.judgement, look);
    else if (strcmp(look->at, "missing") == 0)
        expect_missing(look->is);
    else if (strncmp(look->at, "case", 4) == 0)
        expect_case(look->at[4] == ' ' ? look->at + 5 : NULL, look);
    else if (strcmp(look->at, "per s") == 0)
        assert_string_equal(t_text("%.1f", measured->per_s[THRESHOLD_ORDERS]), look->is);
    else {
        for (size_t i = 0; i < THRESHOLD_MEASURES; i++) {
            if (strcmp(measures[i], look->at) != 0)
                continue;
            assert_string_equal(t_text("%.0f", measured->values[i]), look->is);
            return true;
        }
        return false;
    }
    return true;
}

static void see(const struct look *look)
{
    const struct shop_judgement *judged = &shop.sale.judgement;
    size_t seen = 0;
    sale_judge(&shop.target, &shop.sale);
    if (see_other(look))
        return;
    for (enum finding_kind i = 0; i < FINDING_KIND_COUNT; i++) {
        if (!*claim_name(i))
            continue;
        bool is_meant = strcmp(look->at, "each") == 0 ||
                        (strcmp(look->at, "others") == 0 && i != FINDING_DUPLICATE) ||
                        strcmp(look->at, claim_name(i)) == 0;
        if (is_meant)
            expect_claim(judged, i, look);
        seen += is_meant;
    }
    assert_true(seen > 0);
}

static void play(void **state)
{
    const struct scene *scene = *state;
    for (const struct look *look = scene->looks; look->at; look++) {
        char text[400], *rest = NULL;
        snprintf(text, sizeof text, "%s", look->happens);
        for (char *one = strtok_r(text, ";", &rest); one; one = strtok_r(NULL, ";", &rest))
            happen(one);
        see(look);
    }
}

int main(void)
{
    static struct CMUnitTest tests[sizeof scenes / sizeof *scenes];
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        tests[i] = (struct CMUnitTest){scenes[i].name, play, begin, end, &scenes[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
