/*
 * A shop's claims by hand-made histories, a scene each: a claim is seen to hold, to break with the
 * example that shows it, and to be left unchecked for its reason.
 */
#include "harness/shop/hand_shop.h"

#include "lib/t.h"

#include <stdlib.h>
#include <string.h>

/*
 * What happens, and what is to be seen then. It happens in these words, with ';' between:
 *
 *     told USER MEANING [ORDER]    an answer; `again`: of a repeat; `before`: of a step
 *     row ID USER UNITS            in the books; "-" is not named
 *     left N, stock N, limit N     in the books; of the target
 *     no rows                      the audit names no orders
 *     pointer                      the target says where an answer has the order's id
 *     unasked CLAIM                the target does not ask for it
 *     meanwhile                    all of it so far was asked for at once
 */
struct look {
    const char *happens;
    const char *at; /* a claim, "each", "others" than one_a_key, "verdict" */
    const char *is;
    const char *said; /* stands in a claim's text, is a verdict's; "": any does */
};

/* Two units sold to two users of whom one asked again, by its key and by another, a third told sold
 * out: all of it right. */
#define A_RIGHT_SALE                                                                               \
    "told 1 sold a; again 1 sold a; told 1 refused; told 2 sold b; told 3 sold_out; "              \
    "row a 1 1; row b 2 1; left 0; "

static struct scene {
    const char *name;
    struct look looks[5];
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
};

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
    char verb[16] = "", one[24] = "", two[16] = "", three[16] = "";
    if (sscanf(text, "%15s %23s %15s %15s", verb, one, two, three) < 1)
        return;
    if (strcmp(verb, "told") == 0)
        hand_shop_told(one, meaning_named(two), or_null(three));
    else if (strcmp(verb, "again") == 0)
        hand_shop_repeat(one, meaning_named(two), or_null(three));
    else if (strcmp(verb, "before") == 0)
        hand_shop_told(one, meaning_named(two), NULL)->unasked = true;
    else if (strcmp(verb, "row") == 0)
        hand_shop_row(or_null(one), or_null(two), strtoll(three, NULL, 10));
    else if (strcmp(verb, "left") == 0)
        hand_shop_left(strtoll(one, NULL, 10));
    else if (strcmp(verb, "stock") == 0)
        hand_shop_sells(strtoll(one, NULL, 10), shop.target.limit);
    else if (strcmp(verb, "limit") == 0)
        hand_shop_sells(shop.target.stock, strtoll(one, NULL, 10));
    else if (strcmp(verb, "no") == 0)
        shop.sale.ledger.books.has_orders = false;
    else if (strcmp(verb, "meanwhile") == 0)
        at_once();
    else if (strcmp(verb, "pointer") == 0) {
        shop.target.purchase.rules = &rule;
        shop.target.purchase.rule_count = 1;
    } else if (strcmp(verb, "unasked") == 0)
        unask(one);
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

static void see(const struct look *look)
{
    const struct shop_judgement *judged = &shop.sale.judgement;
    size_t seen = 0;
    sale_judge(&shop.target, &shop.sale);
    if (strcmp(look->at, "verdict") == 0) {
        expect_verdict(judged, look);
        return;
    }
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
        tests[i] =
            (struct CMUnitTest){scenes[i].name, play, hand_shop_begin, hand_shop_end, &scenes[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
