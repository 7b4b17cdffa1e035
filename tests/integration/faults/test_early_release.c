/*
 * Whether a 201 that waited for somebody else's flush is worth what it says.
 *
 * Buyers of every way that releases its locks before the flush load two servers; in the middle of
 * it PostgreSQL ends with whatever stood in its WAL buffers, is started again (or its synchronous
 * standby is promoted), and the buyers get the rest of their answers. Then every order that anybody
 * was told of must be a row, and where anybody was told "sold out" nothing may be left. Flushes are
 * held back (commit_delay) and nobody else writes the WAL out, so that at any moment there are
 * commits to be lost, and at every second crash the servers stand still first, so that there are in
 * any case: a third server, whose failpoint answers without the flush, must have told of
 * orders that are gone, or the crash has proved nothing.
 *
 * A run of SEEDS crashes, or of as many as SECKILL_TEST_SEEDS says: scripts/early-release-proof.sh.
 * A seed says when PostgreSQL ends: after so many answers, or at the first "sold out" of one way.
 */
#include "lib/fixtures/shop.h"
#include "lib/postgres.h"

#include "lib/t.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEEDS = 2,
    MORE_SEEDS = 8,
    BUYERS = 8, /* of a way; two have one user and its keys, each at another server */
    ANSWERS_MAX = 4000,
    MANY = 100000, /* stock that does not run out */
    FEW = 15,
    FLUSH_MS = 40,
    LOOK_US = 500,
    BREATH_US = 3000
};

static const struct way {
    const char *strategy;
    const char *more;
} ways[] = {
    {"pipelined", "&wait_ms=2000"},
    {"conditional", "&flush=shared&wait_ms=2000"},
    {"pessimistic", "&flush=shared&wait_ms=2000"},
    {"redis-token", "&flush=shared&wait_ms=2000"},
    {"batch", "&wait_ms=2000"},
    {"redis-queue", "&wait_ms=2000"},
};
enum { WAYS = sizeof ways / sizeof *ways, CONTROL = WAYS, SALES = WAYS + 1 };

/* What a buyer was told: the order, where there is one. */
struct answer {
    struct http_reply reply; /* owned */
    int number;              /* of the key */
};

struct buyer {
    pthread_t thread;
    struct server *server;
    const struct way *way;
    int sale;
    int64_t product;
    int64_t user;
    int count;
    struct answer *answers; /* owned: ANSWERS_MAX */
};

static struct {
    struct postgres *postgres; /* that is sold from */
    struct postgres *standby;  /* NULL: none */
    struct server *servers[2];
    struct server *control;
    struct witness *witness;
    struct buyer buyers[SALES][BUYERS];
    int64_t product; /* the first of this seed's; one a sale */
    uint64_t random;
    int64_t lost; /* that the control had told of */
    atomic_bool over;
    atomic_int told[SALES];
    atomic_int refused[SALES];
} here;

/* No WAL reaches the kernel but by a flush that somebody asks for, and each of these takes 40 ms.
 */
static const char *const settings[] = {"commit_delay",
                                       "40000",
                                       "commit_siblings",
                                       "0",
                                       "wal_writer_delay",
                                       "10s",
                                       "wal_writer_flush_after",
                                       "1GB",
                                       "wal_buffers",
                                       "16MB",
                                       NULL};

static int64_t pick(int64_t from, int64_t count)
{
    here.random = here.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return from + (int64_t)((here.random >> 33) % (uint64_t)count);
}

static const char *key_of(const struct buyer *buyer, int number, char out[64])
{
    snprintf(out, 64, "%lld-%d", (long long)buyer->user, number);
    return out;
}

/* Into the buyer's answers; false when the connection is of no use any more. */
static bool buy_once(struct buyer *buyer, struct http_client *client, int number)
{
    char target[128];
    char headers[128];
    char body[96];
    char key[64];
    struct answer *answer = &buyer->answers[buyer->count];

    snprintf(target, sizeof target, "/orders?strategy=%s%s", buyer->way->strategy,
             buyer->way->more);
    snprintf(headers, sizeof headers, "Idempotency-Key: %s\r\n", key_of(buyer, number, key));
    snprintf(body, sizeof body, "{\"product_id\": %lld, \"user_id\": %lld}",
             (long long)buyer->product, (long long)buyer->user);
    answer->number = number;
    if (http_client_call(client, "POST", target, headers, body,
                         clock_mono_us() + SERVER_PATIENCE_US, &answer->reply) != HTTP_REPLY)
        return false;
    buyer->count++;
    if (answer->reply.status == 201)
        atomic_fetch_add(&here.told[buyer->sale], 1);
    if (strstr(answer->reply.body, "\"sold_out\""))
        atomic_fetch_add(&here.refused[buyer->sale], 1);
    return answer->reply.keeps_alive;
}

/* Nothing in here may end the test: that is the main thread's. */
static void *buy(void *of)
{
    struct buyer *buyer = of;
    struct http_client *client = NULL;
    int before = atomic_load(&here.refused[buyer->sale]);

    for (int number = 0; !atomic_load(&here.over) && buyer->count < ANSWERS_MAX; number++) {
        if (!client)
            client = http_client_open(server_address(buyer->server),
                                      clock_mono_us() + SERVER_PATIENCE_US);
        if (!client || !buy_once(buyer, client, number)) {
            http_client_close(client);
            client = NULL;
        }
        bool refused = atomic_load(&here.refused[buyer->sale]) > before;
        if (refused || !client || buyer->answers[buyer->count - 1].reply.status >= 500)
            clock_sleep_until(clock_mono_us() + BREATH_US);
        else if (buyer->sale == CONTROL) /* else it has all of the machine */
            clock_sleep_until(clock_mono_us() + LOOK_US);
    }
    http_client_close(client);
    return NULL;
}

static int buyers_of(int sale)
{
    return sale == CONTROL ? BUYERS / 2 : BUYERS;
}

static void send_buyers(int64_t stock)
{
    static const struct way control = {"conditional", "&flush=shared"};

    atomic_store(&here.over, false);
    for (int sale = 0; sale < SALES; sale++) {
        atomic_store(&here.told[sale], 0);
        atomic_store(&here.refused[sale], 0);
        shop_put(here.servers[0], here.product + sale, sale == CONTROL ? MANY : stock, NULL);
    }
    for (int sale = 0; sale < SALES; sale++)
        for (int i = 0; i < buyers_of(sale); i++) {
            struct buyer *buyer = &here.buyers[sale][i];
            *buyer = (struct buyer){
                .server = sale == CONTROL ? here.control : here.servers[i % 2],
                .way = sale == CONTROL ? &control : &ways[sale],
                .sale = sale,
                .product = here.product + sale,
                .user = here.product * 100 + (int64_t)sale * 10 + (sale == CONTROL ? i : i / 2),
                .answers = calloc(ANSWERS_MAX, sizeof *buyer->answers),
            };
            assert_non_null(buyer->answers);
            assert_int_equal(pthread_create(&buyer->thread, NULL, buy, buyer), 0);
        }
}

static void await_buyers(void)
{
    for (int sale = 0; sale < SALES; sale++)
        for (int i = 0; i < buyers_of(sale); i++)
            assert_int_equal(pthread_join(here.buyers[sale][i].thread, NULL), 0);
}

static void wait_for(atomic_int *count, int64_t least, const char *what)
{
    int64_t since_us = clock_mono_us();

    while (atomic_load(count) < least)
        t_wait(since_us, "%s: %d and not %lld", what, atomic_load(count), (long long)least);
}

/* The control has sold, too: its sale has begun with a flush of its own. Answers come right after a
 * flush, when there is little to lose; a "sold out" that has not waited for one comes before. */
static void wait_for_the_moment(int64_t seed, int64_t stock)
{
    int sale = (int)pick(0, WAYS);

    wait_for(&here.told[CONTROL], 1, "the control");
    print_message("seed %lld: %s\n", (long long)seed, ways[sale].strategy);
    if (stock == FEW) {
        wait_for(&here.refused[sale], 1, ways[sale].strategy);
        return;
    }
    wait_for(&here.told[sale], pick(1, 20), ways[sale].strategy);
    clock_sleep_until(clock_mono_us() + pick(0, FLUSH_MS) * CLOCK_US_PER_MS);
}

/* Whether what the buyer was told of is confirmed, under its key. */
static bool is_there(const struct buyer *buyer, const struct answer *answer)
{
    char id[SHOP_ID_SIZE];
    char key[64];

    http_reply_text(&answer->reply, "id", id, sizeof id);
    return witness_number(here.witness,
                          "SELECT count(*) FROM orders WHERE id = '%s' AND product_id = %lld"
                          " AND user_id = %lld AND idempotency_key = '%s' AND status = 1",
                          id, (long long)buyer->product, (long long)buyer->user,
                          key_of(buyer, answer->number, key)) == 1;
}

static int64_t count_lost(const struct buyer *buyer, int *told)
{
    int64_t lost = 0;

    for (int i = 0; i < buyer->count; i++) {
        const struct answer *answer = &buyer->answers[i];
        if (answer->reply.status != 200 && answer->reply.status != 201)
            continue;
        (*told)++;
        lost += !is_there(buyer, answer);
    }
    return lost;
}

static void free_buyer(struct buyer *buyer)
{
    for (int i = 0; i < buyer->count; i++)
        http_reply_fini(&buyer->answers[i].reply);
    free(buyer->answers);
}

static void judge(int64_t seed, int sale)
{
    int64_t lost = 0;
    int told = 0;
    int64_t product = here.product + sale;

    for (int i = 0; i < buyers_of(sale); i++) {
        lost += count_lost(&here.buyers[sale][i], &told);
        free_buyer(&here.buyers[sale][i]);
    }
    struct sale rows = witness_sale(here.witness, product);
    if (sale == CONTROL) {
        print_message("  %d told, %lld of them lost: the control\n", told, (long long)lost);
        here.lost += lost;
        return;
    }
    print_message("  %d told, %d refused, %lld left: %s\n", told, atomic_load(&here.refused[sale]),
                  (long long)rows.stock, ways[sale].strategy);
    if (lost > 0)
        fail_msg("seed %lld, %s: %lld of %d orders that were told of are gone", (long long)seed,
                 ways[sale].strategy, (long long)lost, told);
    witness_expect_exact(here.witness, product);
    if (rows.stock > 0 && atomic_load(&here.refused[sale]) > 0)
        fail_msg("seed %lld, %s: %lld are left, and somebody was told \"sold out\"",
                 (long long)seed, ways[sale].strategy, (long long)rows.stock);
    shop_expect_consistent(here.servers[0], product);
}

/* The two servers stand still, and the control goes on: nothing is flushed any more, so that what
 * it tells of now is lost. */
static void stand_still(void)
{
    struct witness *witness = witness_open(postgres_conninfo(here.postgres, "postgres", NULL));

    server_pause(here.servers[0]);
    server_pause(here.servers[1]);
    T_UNTIL(witness_number(witness, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
                                    " AND application_name = 'seckill'"
                                    " AND query LIKE '%%pg_logical_emit_message%%'") == 0);
    witness_close(witness);
    wait_for(&here.told[CONTROL], atomic_load(&here.told[CONTROL]) + 2, "the control");
}

static void go_on(void)
{
    server_resume(here.servers[0]);
    server_resume(here.servers[1]);
}

/* `end` destroys PostgreSQL, and `again` makes that there is one. */
static void crash(int64_t seed, void (*end)(void), void (*again)(void))
{
    int64_t stock = seed % 2 ? MANY : FEW;

    here.random = (uint64_t)seed;
    here.product += SALES;
    send_buyers(stock);
    wait_for_the_moment(seed, stock);
    bool still = seed % 2 == 0 && !here.standby;
    if (still)
        stand_still();
    end();
    if (still)
        go_on();
    atomic_store(&here.over, true);
    again();
    await_buyers();
    server_wait_ready(here.servers[0], 200, NULL);
    here.witness = witness_open(postgres_conninfo(here.postgres, "postgres", NULL));
    for (int sale = 0; sale < SALES; sale++)
        judge(seed, sale);
    witness_close(here.witness);
    here.witness = NULL;
}

static int64_t seeds(void)
{
    const char *text = getenv("SECKILL_TEST_SEEDS");

    return text && *text ? strtoll(text, NULL, 10) : SEEDS;
}

static void expect_losses(void)
{
    if (here.lost == 0)
        fail_msg("whoever answers without a flush has lost nothing: this has proved nothing");
}

static struct server *start_server(const char *conninfo)
{
    return server_start("--database", conninfo, "--work-timeout-ms", "15000", "--lock-ttl-ms",
                        "16000");
}

/* The probe's commits would flush what a crash is to undo. */
static void start_servers(const char *conninfo)
{
    server_use_failpoints("probe.commit=fail@1+");
    here.servers[0] = start_server(conninfo);
    here.servers[1] = start_server(conninfo);
    server_use_failpoints("flusher.skip=fail@1+,probe.commit=fail@1+");
    here.control = start_server(conninfo);
    server_use_failpoints(NULL);
}

/* The control has sold what is not there, which it may find out. */
static void stop_servers(void)
{
    server_stop(here.servers[0]);
    server_stop(here.servers[1]);
    server_kill(here.control);
}

static int start(void **state)
{
    (void)state;
    here.postgres = postgres_create(settings);
    start_servers(postgres_conninfo(here.postgres, NULL, NULL));
    return 0;
}

static int stop(void **state)
{
    witness_close(here.witness);
    here.witness = NULL;
    here.standby = NULL;
    int failed = server_teardown(state);
    return postgres_teardown(state) | failed;
}

static void kill_it(void)
{
    postgres_kill(here.postgres);
}

static void quit_it(void)
{
    postgres_quit(here.postgres);
}

static void start_it(void)
{
    postgres_start(here.postgres);
}

/* Where a crash met nothing that was not flushed, there is another one. */
static void crash_often(int64_t before, void (*end)(void))
{
    int64_t seed = 1;

    here.lost = 0;
    for (; seed <= seeds(); seed++)
        crash(before + seed, end, start_it);
    for (; here.lost == 0 && seed <= seeds() + MORE_SEEDS; seed++)
        crash(before + seed, end, start_it);
    expect_losses();
    stop_servers();
}

TEST(a_killed_postgres_loses_nothing)
{
    crash_often(0, kill_it);
}

TEST(an_immediate_shutdown_loses_nothing)
{
    crash_often(1000, quit_it);
}

/* While it does not answer nobody may be told of anything. */
static void lose_the_primary(void)
{
    postgres_pause(here.standby);
    clock_sleep_until(clock_mono_us() + pick(30, 100) * CLOCK_US_PER_MS);
    postgres_kill(here.postgres);
}

static void promote_the_standby(void)
{
    postgres_resume(here.standby);
    postgres_promote(here.standby);
    postgres_set(here.standby, "synchronous_standby_names", NULL);
    here.postgres = here.standby;
}

static void lose_one_primary(int64_t seed)
{
    here.postgres = postgres_create(settings);
    here.standby = postgres_standby(here.postgres, "second");
    postgres_set(here.postgres, "synchronous_standby_names", "second");
    start_servers(postgres_both(here.postgres, here.standby));
    crash(seed, lose_the_primary, promote_the_standby);
    stop_servers();
    postgres_teardown(NULL);
    here.standby = NULL;
}

TEST_WITH(a_promoted_standby_has_everything, NULL, stop)
{
    int64_t seed = 1;

    here.lost = 0;
    for (; seed <= (seeds() + 1) / 2; seed++)
        lose_one_primary(2000 + seed);
    for (; here.lost == 0 && seed <= MORE_SEEDS; seed++)
        lose_one_primary(2000 + seed);
    expect_losses();
}

TEST_EACH(start, stop)
