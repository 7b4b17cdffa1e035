/* Which mirrors are noted as wrong when a part is acknowledged, and whether what is said of it
 * fits. No test here needs Redis: no entry is let go of. */
#include "lib/t.h"

#include "strategies/redis_stock/writer/stock_acknowledge.h"

#include <stdlib.h>
#include <string.h>

enum { REFUSED, SOLD, ENDED, COUNT };
enum { PRODUCT = 7, OTHER_PRODUCT = 8, EPOCH = 3 };

static struct claim claims[COUNT];
static struct stock_part part;
static struct stock_stream stream;
static struct stock_link link_of_none;

static int start(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++)
        claims[i] = (struct claim){.order = {.product_id = PRODUCT, .epoch = EPOCH, .quantity = 1}};
    claims[REFUSED].fate = CLAIM_REFUSED;
    claims[SOLD].fate = CLAIM_CONFIRMED;
    claims[ENDED].fate = CLAIM_ENDED;
    claims[ENDED].order.product_id = OTHER_PRODUCT;
    stream = (struct stock_stream){.wrong_count = 0};
    part = (struct stock_part){.claims = claims, .count = COUNT};
    return 0;
}

static void expect_both_noted(void)
{
    assert_int_equal(stream.wrong_count, 2);
    assert_int_equal(stream.wrong[0].product_id, PRODUCT);
    assert_int_equal(stream.wrong[0].ended, 0);
    assert_int_equal(stream.wrong[1].product_id, OTHER_PRODUCT);
    assert_int_equal(stream.wrong[1].ended, EPOCH);
}

/* Every entry of the part has an order whose row is held, so the writer has taken all of them out.
 */
TEST(a_refusal_in_a_put_off_entry_is_noted)
{
    assert_true(stock_acknowledge(&stream, &link_of_none, &part, false));
    expect_both_noted();
}

/* The part's one entry was sold, which alone would say nothing of any mirror. */
TEST(so_it_is_beside_an_entry_that_was_sold)
{
    part.entries_count = 1;
    part.entries[0] = (struct part_entry){.id = "1-1", .first = SOLD, .count = 1, .whole = true};
    assert_true(stock_acknowledge(&stream, &link_of_none, &part, true));
    assert_int_equal(stream.noted_count, 1);
    expect_both_noted();
}

/* As many orders as a part has room for, each with the longest key and the largest numbers: the
 * room for their lines is enough (under AddressSanitizer). */
TEST_WITH(the_longest_lines_have_room, NULL, NULL)
{
    struct settings settings = {
        .listen = "127.0.0.1:0", .system_name = "acknowledge", .work_timeout_ms = 50};
    struct stock_shards shards;
    struct error error;
    struct redis_server *server = redis_server_create("unix:///nowhere", "", &error);
    struct stock_stream *own = stock_stream_create(&settings, 1);
    struct claim claim = {.fate = CLAIM_POISON,
                          .order = {.product_id = INT64_MAX,
                                    .epoch = INT64_MAX,
                                    .user_id = INT64_MAX,
                                    .quantity = INT64_MAX}};

    assert_non_null(server);
    assert_non_null(own);
    struct stock_link link = {.settings = &settings, .redis = redis_create(server)};
    assert_non_null(link.redis);
    stock_shards_init(&shards, &settings, 1);
    stock_aim(&link, &shards.at[0]);
    memset(claim.order.key, 'k', ORDER_KEY_MAX);
    memset(claim.generation, '9', STOCK_GENERATION_MAX - 1);
    for (int i = 0; i < WRITE_MAX; i++)
        own->claims[i] = claim;
    part = (struct stock_part){.claims = own->claims, .count = WRITE_MAX, .entries_count = 1};
    part.entries[0] = (struct part_entry){.id = "1-1", .count = WRITE_MAX, .whole = true};
    assert_false(stock_acknowledge(own, &link, &part, false));
    assert_int_equal(own->lines[strlen(own->lines) - 1], '\n');
    stock_stream_destroy(own);
    redis_destroy(link.redis);
    redis_server_destroy(server);
}

TEST_EACH(start, NULL)
