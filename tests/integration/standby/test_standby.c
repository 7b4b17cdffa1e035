/*
 * A PostgreSQL that waits for a synchronous standby, which is stopped (SIGSTOP) while orders
 * commit.
 *
 * PostgreSQL commits on its own disk first and then waits; whoever cancels that wait gets
 * "committed" with a warning. So: no deadline may cut it short, no 201 may come of it, and what
 * settles, repeats or cancels such an order must itself wait for the standby.
 */
#include "lib/fixtures/shop.h"
#include "lib/postgres.h"

#include "lib/t.h"

#include "base/clock.h"

#include <string.h>

enum { STOCK = 2000, RUN = 3, PATIENCE_US = 60000000 };

static struct {
    struct postgres *primary;
    struct postgres *standby;
    struct server *server;
    struct server *other; /* whose lanes are free while the first one's wait; NULL: none */
    struct witness *witness;
    int64_t product;
} here;

/* What commits by itself, what has a COMMIT of its own, and what settles differently. */
static const struct way {
    const char *strategy;
    const char *key;
    const char *more; /* of the PUT */
} ways[] = {
    {"none", NULL, NULL},           {"conditional", NULL, NULL},
    {"conditional", "a-key", NULL}, {"conditional", NULL, ", \"limit_per_user\": 2"},
    {"pessimistic", NULL, NULL},    {"optimistic", NULL, NULL},
    {"serializable", NULL, NULL},   {"buckets", NULL, NULL},
    {"batch", NULL, NULL},          {"batch", "a-key", ", \"limit_per_user\": 2"},
};
enum { WAYS = sizeof ways / sizeof *ways };

static int start(void **state)
{
    (void)state;
    here.primary = postgres_create(NULL);
    here.standby = postgres_standby(here.primary, "second");
    postgres_set(here.primary, "synchronous_standby_names", "second");
    here.witness = witness_open(postgres_conninfo(here.primary, "postgres", NULL));
    /* The sessions have to be told of a wait that somebody ended, whatever their role is told. */
    witness_run(here.witness, "ALTER ROLE seckill SET client_min_messages = error");
    server_use_database(postgres_conninfo(here.primary, NULL, NULL));
    return 0;
}

static int stop(void **state)
{
    witness_close(here.witness);
    return postgres_teardown(state);
}

static int start_hasty_server(void **state)
{
    (void)state;
    here.server = server_start("--work-timeout-ms", "1500");
    return 0;
}

/* For where the test has to see something while an order is under way. The probe is kept still: on
 * a slow machine it would find a standby away, and nobody would wait for it. */
static int start_patient_server(void **state)
{
    (void)state;
    server_use_failpoints("probe.commit=fail@1+");
    here.server = server_start("--work-timeout-ms", "60000", "--lock-ttl-ms", "90000");
    here.other = server_start("--work-timeout-ms", "60000", "--lock-ttl-ms", "90000");
    server_use_failpoints(NULL);
    return 0;
}

static void stop_servers(void)
{
    server_stop(here.server);
    if (here.other)
        server_stop(here.other);
    here.other = NULL;
}

static int end(void **state)
{
    here.other = NULL;
    postgres_resume(here.standby);
    return server_teardown(state);
}

static int64_t put(const char *more)
{
    shop_put(here.server, ++here.product, STOCK, more);
    return here.product;
}

static struct buy way_buy(const struct way *way, const char *more)
{
    return (struct buy){.strategy = way->strategy,
                        .key = way->key,
                        .more = more,
                        .product = here.product,
                        .user = here.product};
}

static int64_t confirmed(int64_t product)
{
    return witness_number(here.witness,
                          "SELECT count(*) FROM orders WHERE product_id = %lld AND status = 1",
                          (long long)product);
}

/* The process of a session that has committed and waits for the standby, and is none of these, nor
 * a server's probe; 0: there is none. */
static int64_t waiting(int64_t but, int64_t nor)
{
    return witness_number(here.witness,
                          "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE"
                          " wait_event = 'SyncRep' AND query NOT LIKE '%%''probe''%%'"
                          " AND pid NOT IN (%lld, %lld)",
                          (long long)but, (long long)nor);
}

/* Waits until there is one, and nobody in the crowd may be answered before. */
static int64_t wait_waiting(const char *what, struct crowd *crowd, int64_t but, int64_t nor)
{
    int64_t since_us = clock_mono_us();
    int64_t pid = 0;

    while ((pid = waiting(but, nor)) == 0) {
        if (crowd_wait(crowd, 1, clock_mono_us()))
            fail_msg("%s: answered while no standby has it: %s", what, crowd_summary(crowd));
        t_wait(since_us, "%s: nobody waits for the standby", what);
    }
    return pid;
}

static void cancel(int64_t pid)
{
    witness_number(here.witness, "SELECT pg_cancel_backend(%lld)::int", (long long)pid);
}

static void wait_ready(bool ready)
{
    server_wait_ready(here.server, ready ? 200 : 503, ready ? NULL : "synchronous standby");
}

/* One order of each way that is still asked for, while no standby answers; who comes to his COMMIT
 * in his time is not told what became of it, and is not asked for any more. How many are left. */
static int meet_the_deadline(bool asked[WAYS], int64_t first)
{
    struct crowd *crowd = crowd_create();
    int left = 0;

    wait_ready(true);

    for (int i = 0; i < WAYS; i++) {
        struct buy buy = way_buy(&ways[i], "&wait_ms=1500");
        buy.product = buy.user = first + i;
        if (asked[i])
            shop_crowd_buy(crowd, here.server, &buy);
    }
    postgres_pause(here.standby);
    crowd_answers(crowd, PATIENCE_US);
    if (crowd_count(crowd, 504, "outcome_unknown") + crowd_count(crowd, 503, NULL) !=
        crowd_size(crowd))
        fail_msg("%s", crowd_summary(crowd));
    for (int i = 0, call = 0; i < WAYS; i++) {
        if (!asked[i])
            continue;
        asked[i] = crowd_at(crowd, call++)->reply.status == 503;
        left += asked[i];
        if (confirmed(first + i) != 0)
            fail_msg("%s %d is committed, and no standby has it", ways[i].strategy, i);
    }
    postgres_resume(here.standby);
    crowd_destroy(crowd);
    return left;
}

/* The deadline of every order comes while its commit waits. On a slow machine it may come before
 * there is a commit: then nothing was done, and another order is sent. */
TEST_WITH(no_deadline_ends_the_wait, start_hasty_server, end)
{
    bool asked[WAYS];
    int64_t first = here.product + 1;

    for (int i = 0; i < WAYS; i++) {
        put(ways[i].more);
        asked[i] = true;
    }
    T_UNTIL(meet_the_deadline(asked, first) == 0);
    wait_ready(true);
    /* An order with an unknown outcome is, sooner or later, sold or not. */
    for (int i = 0; i < WAYS; i++)
        shop_expect_consistent(here.server, first + i);
    stop_servers();
}

static bool is_early(int64_t product)
{
    return witness_number(here.witness, "SELECT early::int FROM product WHERE id = %lld",
                          (long long)product) == 1;
}

/* Buys until the sale releases its locks early: the first such order of a server's opens the
 * session without which none does. How many were bought. No PUT: what it leaves to be deleted
 * commits, too. */
static int begin_early(const struct buy *buy)
{
    struct buy first = {.strategy = buy->strategy,
                        .more = "&flush=shared",
                        .product = buy->product,
                        .user = buy->user + 1};
    int64_t since_us = clock_mono_us();
    int bought = 0;

    for (; !is_early(buy->product); first.user++) {
        assert_true(++bought < STOCK);
        shop_expect_buy(here.server, &first, 201, "", NULL);
        t_wait(since_us, "%s never releases its locks early", buy->strategy);
    }
    return bought;
}

/* Somebody else cancels the wait: the order is unknown, and settled when the standby is back. */
TEST(a_cancelled_wait_is_unknown)
{
    for (int i = 0; i < WAYS; i++) {
        struct crowd *crowd = crowd_create();
        int64_t product = put(ways[i].more);
        struct buy buy = way_buy(&ways[i], NULL);
        int before = 0; /* of batch, or it would wait for what its sale begins with */
        if (strcmp(buy.strategy, "batch") == 0)
            before = begin_early(&buy);
        shop_crowd_buy(crowd, here.server, &buy);
        postgres_pause(here.standby);
        crowd_send(crowd);
        int64_t pid = wait_waiting(ways[i].strategy, crowd, 0, 0);
        cancel(pid);
        int64_t settles = wait_waiting(ways[i].strategy, crowd, pid, 0);
        assert_int_equal(confirmed(product), before + 1);
        if (ways[i].key) { /* a repeat knows no more than that */
            shop_crowd_buy(crowd, here.other, &buy);
            crowd_send(crowd);
            wait_waiting("a repeat", crowd, pid, settles);
        }
        postgres_resume(here.standby);
        crowd_answers(crowd, PATIENCE_US);
        if (crowd_count(crowd, 201, "") != 1 ||
            crowd_count(crowd, 200, "") != (ways[i].key ? 1 : 0))
            fail_msg("%s: %s", ways[i].strategy, crowd_summary(crowd));
        crowd_destroy(crowd);
    }
    stop_servers();
}

/* What it repeats is committed; whether a standby has it is not known. */
TEST_WITH(a_repeat_that_is_unknown_names_the_first_order, NULL, end)
{
    char first[SHOP_ID_SIZE];
    char named[SHOP_ID_SIZE];

    server_use_failpoints("probe.commit=fail@1+");
    start_hasty_server(NULL);
    server_use_failpoints(NULL);
    struct buy buy = {.strategy = "conditional", .key = "a-key", .product = put(NULL), .user = 1};

    shop_expect_buy(here.server, &buy, 201, "", first);
    postgres_pause(here.standby);
    struct http_reply reply = shop_send(here.server, &buy);
    postgres_resume(here.standby);
    if (reply.status != 504)
        fail_msg("%d: %s", reply.status, reply.body);
    http_reply_text(&reply, "order_id", named, sizeof named);
    http_reply_fini(&reply);
    assert_string_equal(named, first);
    stop_servers();
}

/* The wait of what settles is cancelled as well. */
TEST(a_cancelled_settling_is_done_again)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = {.strategy = "conditional", .product = put(NULL), .user = 1};

    shop_crowd_buy(crowd, here.server, &buy);
    postgres_pause(here.standby);
    crowd_send(crowd);
    int64_t pid = wait_waiting("a buy", crowd, 0, 0);
    cancel(pid);
    int64_t settles = wait_waiting("its settling", crowd, pid, 0);
    cancel(settles);
    wait_waiting("its second settling", crowd, pid, settles);
    postgres_resume(here.standby);
    crowd_answers(crowd, PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 201, ""), 1);
    crowd_destroy(crowd);
    stop_servers();
}

/* A cancel whose commit nobody has, and one that finds the order cancelled by it; and a restock. */
TEST(cancels_and_restocks_are_settled)
{
    char id[SHOP_ID_SIZE];
    struct buy buy = {.strategy = "pessimistic", .product = put(NULL), .user = 1};

    shop_expect_buy(here.server, &buy, 201, "", id);
    for (int i = 0; i < 2; i++) {
        struct crowd *crowd = crowd_create();
        struct buy restock = {.strategy = "conditional", .product = buy.product, .quantity = 1};
        if (i == 0)
            shop_crowd_cancel(crowd, here.server, id);
        else
            shop_crowd_restock(crowd, here.server, &restock);
        postgres_pause(here.standby);
        crowd_send(crowd);
        int64_t pid = wait_waiting("a change", crowd, 0, 0);
        cancel(pid);
        int64_t settles = wait_waiting("its settling", crowd, pid, 0);
        if (i == 0) {
            shop_crowd_cancel(crowd, here.other, id);
            crowd_send(crowd);
            wait_waiting("a second cancel", crowd, pid, settles);
        }
        postgres_resume(here.standby);
        crowd_answers(crowd, PATIENCE_US);
        if (crowd_count(crowd, 200, "") != crowd_size(crowd))
            fail_msg("%d: %s", i, crowd_summary(crowd));
        crowd_destroy(crowd);
    }
    shop_expect_consistent(here.server, buy.product);
    stop_servers();
}

/* What somebody asks of the other instance while a sale's last order is committed without a flush.
 */
static const struct question {
    const char *what;
    const char *method;
    int status;
    const char *code;
    const char *holds; /* in the reply's body */
} questions[] = {
    {"a look at the order", "GET", 200, "", "\"confirmed\""},
    {"a list of the sale's orders", "GET", 200, "", "\"confirmed\""},
    {"a repeat", "POST", 200, "", "\"confirmed\""},
    {"an order too many", "POST", 409, "sold_out", ""},
};
enum { QUESTIONS = sizeof questions / sizeof *questions };

/* Of the order with the key. */
static void find_order(const char *key, char id[SHOP_ID_SIZE])
{
    char halves[2][17];

    for (int i = 0; i < 2; i++)
        snprintf(halves[i], sizeof halves[i], "%016llx",
                 (unsigned long long)witness_number(
                     here.witness,
                     "SELECT ('x' || substr(replace(id::text, '-', ''), %d, 16))::bit(64)::bigint"
                     " FROM orders WHERE product_id = %lld AND idempotency_key = '%s'",
                     i * 16 + 1, (long long)here.product, key));
    snprintf(id, SHOP_ID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", halves[0], halves[0] + 8,
             halves[0] + 12, halves[1], halves[1] + 4);
}

static void ask(struct crowd *crowd, const struct question *question, const struct buy *last)
{
    char target[96];
    char id[SHOP_ID_SIZE];
    struct buy buy = *last;

    if (strcmp(question->method, "POST") == 0) {
        if (question->status != 200) {
            buy.user++;
            buy.key = NULL;
            buy.quantity = 1;
        }
        shop_crowd_buy(crowd, here.other, &buy);
        return;
    }
    find_order(last->key, id);
    if (question == questions)
        snprintf(target, sizeof target, "/orders/%s", id);
    else
        snprintf(target, sizeof target, "/orders?product_id=%lld", (long long)here.product);
    crowd_add(crowd, here.other, "GET", target, NULL, NULL);
}

static void expect_told(struct crowd *crowd, const char *strategy, const struct question *question)
{
    crowd_answers(crowd, PATIENCE_US);
    const struct crowd_call *answer = crowd_at(crowd, 1);
    if (crowd_at(crowd, 0)->reply.status != 201 || answer->reply.status != question->status ||
        strcmp(answer->code, question->code) != 0 || !strstr(answer->reply.body, question->holds))
        fail_msg("%s, %s: %s: %s", strategy, question->what, crowd_summary(crowd),
                 answer->reply.body);
}

/* Both know of each other only what the rows say: whoever reads a row that no flush may have
 * covered yet waits for one of its own. */
TEST(nobody_tells_of_what_no_standby_has)
{
    static const char *const early[] = {"pipelined", "conditional", "batch"};

    for (int i = 0; i < 3 * QUESTIONS; i++) {
        const struct question *question = &questions[i % QUESTIONS];
        struct crowd *crowd = crowd_create();
        struct buy buy = {.strategy = early[i / QUESTIONS], .more = "&flush=shared"};
        buy.product = put(NULL);
        buy.user = 100 * buy.product; /* a key is its user's */
        int before = begin_early(&buy);
        buy.key = "the-last";
        buy.quantity = STOCK - before;
        postgres_pause(here.standby);
        shop_crowd_buy(crowd, here.server, &buy);
        crowd_send(crowd);
        int64_t flusher = wait_waiting(buy.strategy, crowd, 0, 0);
        assert_int_equal(confirmed(here.product), before + 1);
        ask(crowd, question, &buy);
        crowd_send(crowd);
        wait_waiting(question->what, crowd, flusher, 0);
        postgres_resume(here.standby);
        expect_told(crowd, buy.strategy, question);
        crowd_destroy(crowd);
    }
    stop_servers();
}

static bool flush_waits(void)
{
    return witness_number(here.witness, "SELECT count(*) FROM pg_stat_activity"
                                        " WHERE wait_event = 'SyncRep'"
                                        " AND query LIKE '%%pg_logical_emit_message%%'") > 0;
}

/* A primary that was left behind does not hear of the sales of the next one, and what it has proven
 * about its own would stay true for ever. */
TEST(what_was_proven_is_asked_again)
{
    struct crowd *crowd = crowd_create();
    struct buy buy = {
        .strategy = "pipelined", .more = "&flush=shared", .product = put(NULL), .user = 1};
    int64_t until_us = clock_mono_us() + t_patience_us();
    int refused = 0;

    buy.quantity = STOCK - begin_early(&buy);
    shop_expect_buy(here.server, &buy, 201, "", NULL);
    buy.quantity = 1;
    shop_expect_buy(here.server, &buy, 409, "sold_out", NULL);
    postgres_pause(here.standby);
    while (!flush_waits()) {
        if (clock_mono_us() >= until_us)
            fail_msg("without its standby it still says \"sold out\"");
        shop_crowd_buy(crowd, here.server, &buy);
        crowd_send(crowd);
        while (!crowd_wait(crowd, refused + 1, clock_mono_us() + CLOCK_US_PER_MS) && !flush_waits())
            ;
        refused++;
    }
    postgres_resume(here.standby);
    crowd_finish(crowd, PATIENCE_US);
    assert_int_equal(crowd_count(crowd, 409, "sold_out"), refused);
    crowd_destroy(crowd);
    stop_servers();
}

static int64_t waiters(void)
{
    return witness_number(here.witness, "SELECT count(*) FROM pg_stat_activity"
                                        " WHERE wait_event = 'SyncRep'");
}

/* Its standby is away when it comes to its COMMIT, and stays away; or its time was over before. */
static bool is_unknown_without_a_standby(struct buy *buy)
{
    wait_ready(true);
    postgres_pause(here.standby);
    struct http_reply reply = shop_send(here.server, buy);
    int status = reply.status;

    http_reply_fini(&reply);
    assert_true(status == 504 || status == 503);
    if (status == 503)
        postgres_resume(here.standby);
    buy->user++;
    return status == 504;
}

/* Every order that is begun would be unknown, and keep a session of PostgreSQL's. */
TEST_WITH(a_standby_that_stays_away_is_not_waited_for, start_hasty_server, end)
{
    struct buy buy = {.strategy = "conditional", .product = put(NULL), .user = 1};
    struct buy other = {.strategy = "pessimistic", .product = put(NULL), .user = 1};

    T_UNTIL(is_unknown_without_a_standby(&buy));
    wait_ready(false);
    shop_expect_buy(here.server, &other, 503, "backend_unavailable", NULL);
    assert_int_equal(server_status(here.server, "GET", "/products/1", NULL, NULL), 200);
    assert_int_equal(waiters(), 2); /* the order's, and the probe's */
    postgres_resume(here.standby);
    wait_ready(true);
    shop_expect_buy_soon(here.server, &other, 201);
    shop_expect_consistent(here.server, buy.product);
    stop_servers();
}

/* No call leaves a session behind meanwhile: PostgreSQL does not see that the client of one that
 * waits for a standby has gone, and allows only so many. */
TEST_WITH(nothing_piles_up_while_a_standby_stays_away, start_hasty_server, end)
{
    char id[SHOP_ID_SIZE], order[64], list[64], cancel[72], pay[64], product[64];
    struct buy buy = {.strategy = "conditional", .product = put(NULL), .user = 1};

    here.other = server_start(NULL); /* which is in no hurry */
    shop_expect_buy(here.other, &buy, 201, "", id);
    snprintf(order, sizeof order, "/orders/%s", id);
    snprintf(list, sizeof list, "/orders?product_id=%lld", (long long)buy.product);
    snprintf(cancel, sizeof cancel, "/orders/%s/cancel", id);
    snprintf(pay, sizeof pay, "/orders/%s/pay", id);
    snprintf(product, sizeof product, "/products/%lld", (long long)buy.product);
    const struct {
        const char *method, *target, *body;
    } calls[] = {{"GET", order, NULL},
                 {"GET", list, NULL},
                 {"GET", "/orders/feed", NULL},
                 {"POST", cancel, NULL},
                 {"POST", pay, NULL},
                 {"PUT", product, "{\"stock\": 5}"},
                 {"PATCH", product, "{\"limit_per_user\": 5}"}};
    postgres_pause(here.standby);
    wait_ready(false);
    int64_t before = waiters();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        shop_expect(here.server, calls[i].method, calls[i].target, NULL, calls[i].body, 503,
                    "backend_unavailable");
        assert_int_equal(waiters(), before);
    }
    postgres_resume(here.standby);
    wait_ready(true);
    stop_servers();
}

TEST_WITH(readiness_says_what_durable_covers, start_hasty_server, end)
{
    wait_ready(true);
    struct http_reply reply = server_call(here.server, "GET", "/readyz", NULL, NULL);
    char text[64];

    assert_int_equal(reply.status, 200);
    assert_true(http_reply_bool(&reply, "durable"));
    assert_true(http_reply_bool(&reply, "durability.fsync"));
    assert_true(http_reply_bool(&reply, "durability.full_page_writes"));
    http_reply_text(&reply, "durability.synchronous_commit", text, sizeof text);
    assert_string_equal(text, "on");
    http_reply_text(&reply, "durability.synchronous_standby_names", text, sizeof text);
    assert_string_equal(text, "second");
    http_reply_fini(&reply);
    stop_servers();
}

static void buy_confirmed(struct server *server, int64_t product, int64_t user)
{
    struct buy buy = {.strategy = "conditional", .product = product, .user = user};

    shop_expect_buy_soon(server, &buy, 201);
}

/* The primary dies and its synchronous standby is promoted: the other host of the conninfo has what
 * was answered with 201, and is sold from. The last test: the primary stays dead. */
TEST_WITH(a_promoted_standby_is_sold_from, NULL, end)
{
    int64_t product = ++here.product;

    struct server *server = server_start("--database", postgres_both(here.primary, here.standby));
    shop_put(server, product, STOCK, NULL);
    for (int64_t user = 1; user <= RUN; user++)
        buy_confirmed(server, product, user);
    witness_close(here.witness);
    postgres_kill(here.primary);
    postgres_promote(here.standby);
    postgres_set(here.standby, "synchronous_standby_names", NULL);
    here.witness = witness_open(postgres_conninfo(here.standby, "postgres", NULL));
    assert_int_equal(confirmed(product), RUN);
    buy_confirmed(server, product, RUN + 1);
    shop_expect_consistent(server, product);
    assert_int_equal(confirmed(product), RUN + 1);
    server_stop(server);
}

TEST_GROUP(start, stop)
TEST_EACH(start_patient_server, end)
