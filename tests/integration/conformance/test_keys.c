/* Idempotency-Keys, which are safe in every strategy: one key, one order. */
#include "integration/conformance/conformance.h"

#include "lib/fixtures/cases.h"

#include <string.h>

enum { REPEATS = 20, PATIENCE_US = 60000000 };

static void expect_replay(struct server *server, const struct buy *buy, const char *id)
{
    char again[SHOP_ID_SIZE];
    char header[8] = "";
    struct http_reply reply = shop_buy(server, buy);

    if (reply.status != 200)
        fail_msg("a repeat: %d %s", reply.status, reply.body);
    assert_true(http_reply_header(&reply, "Idempotent-Replayed", header, sizeof header));
    assert_string_equal(header, "true");
    http_reply_text(&reply, "id", again, sizeof again);
    assert_string_equal(again, id);
    http_reply_fini(&reply);
}

/* The largest user that there is, with the longest key. */
static void a_repeat_gets_the_first_order(struct test_case *the)
{
    char id[SHOP_ID_SIZE];
    char header[8];
    char key[256] = "first-";
    struct buy buy = case_buy(the, 1);

    buy.user = INT64_MAX - the->product;
    memset(key + strlen(key), '\'', sizeof key - 1 - strlen(key));
    buy.key = key;
    shop_put(the->servers[0], the->product, 2, NULL);
    struct http_reply reply = shop_buy(case_server(the, 0), &buy);
    assert_int_equal(reply.status, 201);
    assert_false(http_reply_header(&reply, "Idempotent-Replayed", header, sizeof header));
    http_reply_text(&reply, "id", id, sizeof id);
    http_reply_fini(&reply);
    for (int i = 0; i < 3; i++)
        expect_replay(case_server(the, i), &buy, id);
    assert_int_equal(witness_sale(the->witness, the->product).orders, 1);

    /* Still when nothing is left. */
    struct buy other = case_buy(the, 2);
    shop_expect_buy(case_server(the, 1), &other, 201, "", NULL);
    shop_expect_buy(case_server(the, 1), &other, 409, "sold_out", NULL);
    for (int i = 0; i < 3; i++)
        expect_replay(case_server(the, i), &buy, id);
    case_expect_rows(the, NULL);
}

/* Also where a limit, or the end of the sale, would refuse it. */
static void a_repeat_outlives_limit_and_window(struct test_case *the)
{
    char id[SHOP_ID_SIZE];
    struct buy buy = case_buy(the, 1);

    buy.user = INT64_MAX - the->product;
    buy.key = "limited";
    shop_put(the->servers[0], the->product, 9, ", \"limit_per_user\": 1");
    shop_expect_buy(case_server(the, 0), &buy, 201, "", id);
    expect_replay(case_server(the, 1), &buy, id);
    witness_run(the->witness, "UPDATE product SET closes_at = now() WHERE id = %lld",
                (long long)the->product);
    expect_replay(case_server(the, 2), &buy, id);
    buy.key = NULL;
    if (!the->strategy->external_state) /* a mirror learns of another window by a PUT alone */
        shop_expect_buy(case_server(the, 1), &buy, 409, "sale_not_open", NULL);
    case_expect_rows(the, NULL);
}

static void many_repeats_at_once_make_one_order(struct test_case *the)
{
    struct crowd *crowd = crowd_create();

    shop_put(the->servers[0], the->product, 100, NULL);
    for (int i = 0; i < REPEATS; i++) {
        struct buy buy = case_buy(the, 1);
        buy.key = "one";
        shop_crowd_buy(crowd, case_server(the, i), &buy);
    }
    crowd_finish(crowd, PATIENCE_US);
    if (crowd_count(crowd, 201, "") != 1 || crowd_count(crowd, 200, "") != REPEATS - 1)
        fail_msg("%s", crowd_summary(crowd));
    assert_int_equal(crowd_distinct_orders(crowd), 1);
    case_expect_rows(the, crowd);
    crowd_destroy(crowd);
    assert_int_equal(witness_sale(the->witness, the->product).orders, 1);
}

/* Of several keys at once, one order each, also for the last units. */
static void repeats_at_once_around_sold_out(struct test_case *the)
{
    enum { KEYS = 8, STOCK = 5 };
    static const char *const keys[KEYS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct crowd *crowd = crowd_create();

    shop_put(the->servers[0], the->product, STOCK, NULL);
    for (int i = 0; i < 6 * KEYS; i++) {
        struct buy buy = case_buy(the, 1 + i % KEYS);
        buy.key = keys[i % KEYS];
        shop_crowd_buy(crowd, case_server(the, i), &buy);
    }
    crowd_finish(crowd, PATIENCE_US);
    case_expect_rows(the, crowd);
    if (the->exact && (crowd_count(crowd, 201, "") != STOCK ||
                       crowd_count(crowd, 201, "") + crowd_count(crowd, 200, "") +
                               crowd_count(crowd, 409, "sold_out") !=
                           6 * KEYS))
        fail_msg("%s", crowd_summary(crowd));
    assert_int_equal(crowd_distinct_orders(crowd), crowd_count(crowd, 201, ""));
    crowd_destroy(crowd);
}

static void another_question_with_the_key_is_a_mismatch(struct test_case *the)
{
    struct buy buy = case_buy(the, 1);
    struct test_case other = *the;

    buy.key = "mismatch";
    other.product = the->product + 100000;
    shop_put(the->servers[0], the->product, 5, NULL);
    shop_put(the->servers[0], other.product, 5, NULL);
    shop_expect_buy(case_server(the, 0), &buy, 201, "", NULL);
    struct buy more = buy;
    more.quantity = 2;
    shop_expect_buy(case_server(the, 1), &more, 409, "idempotency_mismatch", NULL);
    struct buy elsewhere = buy;
    elsewhere.product = other.product;
    shop_expect_buy(case_server(the, 2), &elsewhere, 409, "idempotency_mismatch", NULL);
    /* With nothing left it is still a mismatch, not "sold out". */
    more.quantity = 6;
    shop_expect_buy(case_server(the, 1), &more, 409, "idempotency_mismatch", NULL);
    /* The same key of another user is another key. */
    struct buy stranger = buy;
    stranger.user++;
    stranger.quantity = 2;
    shop_expect_buy(case_server(the, 2), &stranger, 201, "", NULL);
    case_expect_rows(the, NULL);
    assert_int_equal(witness_sale(the->witness, the->product).sold, 3);
    assert_int_equal(witness_sale(the->witness, other.product).sold, 0);
}

static void a_key_ends_with_the_next_put(struct test_case *the)
{
    char first[SHOP_ID_SIZE];
    char second[SHOP_ID_SIZE];
    struct buy buy = case_buy(the, 1);

    buy.key = "again";
    shop_put(the->servers[0], the->product, 1, NULL);
    shop_expect_buy(case_server(the, 0), &buy, 201, "", first);
    expect_replay(case_server(the, 1), &buy, first);
    shop_put(the->servers[0], the->product, 3, NULL);
    buy.quantity = 2;
    shop_expect_buy(case_server(the, 1), &buy, 201, "", second);
    assert_string_not_equal(first, second);
    expect_replay(case_server(the, 2), &buy, second);
    case_expect_rows(the, NULL);
}

/* Before the ended sale's rows are deleted, too; its key's order must not answer in the new one. */
static void an_ended_sale_answers_no_repeat(struct test_case *the)
{
    for (int i = 0; i < 5; i++) {
        struct buy buy = case_buy(the, 1 + i);
        buy.key = "ended";
        shop_put(the->servers[0], the->product, 1, NULL);
        shop_expect_buy(case_server(the, i), &buy, 201, "", NULL);
        shop_put(the->servers[0], the->product, 0, NULL);
        shop_expect_buy(case_server(the, i + 1), &buy, 409, "sold_out", NULL);
    }
    case_expect_rows(the, NULL);
}

/* Only orders are remembered: a refused key may be used again. */
static void a_refusal_is_not_remembered(struct test_case *the)
{
    struct buy buy = case_buy(the, 1);

    buy.key = "refused";
    shop_put(the->servers[0], the->product, 0, NULL);
    shop_expect_buy(case_server(the, 0), &buy, 409, "sold_out", NULL);
    struct buy restock = case_buy(the, 0);
    restock.quantity = 1;
    shop_expect_restock(case_server(the, 1), &restock, 200, "");
    shop_expect_buy(case_server(the, 2), &buy, 201, "", NULL);
    case_expect_rows(the, NULL);
}

int conformance_keys(void)
{
    static const struct case_test tests[] = {
        {"a repeat gets the first order", a_repeat_gets_the_first_order},
        {"a repeat outlives limit and window", a_repeat_outlives_limit_and_window},
        {"many repeats at once make one order", many_repeats_at_once_make_one_order},
        {"repeats at once around sold out", repeats_at_once_around_sold_out},
        {"another question is a mismatch", another_question_with_the_key_is_a_mismatch},
        {"a key ends with the next PUT", a_key_ends_with_the_next_put},
        {"an ended sale answers no repeat", an_ended_sale_answers_no_repeat},
        {"a refusal is not remembered", a_refusal_is_not_remembered},
    };
    return cases_run("keys", tests, sizeof tests / sizeof *tests, cases_patient);
}
