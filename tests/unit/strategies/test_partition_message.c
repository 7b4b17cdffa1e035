/* Messages of partitioned-queue: what is written is read again, and nothing else is taken for one.
 */
#include "lib/t.h"

#include "strategies/partitioned_queue/partition.h"

#include <stdlib.h>
#include <string.h>

static struct partition_entry entries[2 * PARTITION_BATCH];

TEST(requests_are_read_as_written)
{
    struct uuid id;
    char *body = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&body, &length);
    int count = 0;

    assert_non_null(to);
    assert_true(uuid_parse("01930000-0000-7000-8000-000000000001", &id));
    struct order restock = {.kind = ORDER_RESTOCK,
                            .id = id,
                            .quantity = 1000000,
                            .created_us = 1763625600000000,
                            .key = "~!key"};
    struct order bare = {.kind = ORDER_RESTOCK, .id = id, .quantity = 1};
    struct order cancel = {.kind = ORDER_CANCEL, .id = id};
    partition_write_product(to, ORDER_ID_MAX);
    partition_write_id(to, &id);
    partition_write_order(to, &restock, 7);
    partition_write_order(to, &bare, 1);
    partition_write_order(to, &cancel, 7);
    fclose(to);
    assert_true(partition_read_request(body, entries, &count));
    free(body);
    assert_int_equal(count, 4);
    for (int i = 0; i < count; i++) {
        assert_int_equal(entries[i].product_id, ORDER_ID_MAX);
        assert_true(uuid_equal(&entries[i].id, &id));
        assert_int_equal(entries[i].outcome, ORDER_PENDING);
    }
    assert_int_equal(entries[0].kind, ORDER_BUY);
    assert_int_equal(entries[1].kind, ORDER_RESTOCK);
    assert_int_equal(entries[1].epoch, 7);
    assert_int_equal(entries[1].quantity, 1000000);
    assert_int_equal(entries[1].created_us, 1763625600000000);
    assert_string_equal(entries[1].key, "~!key");
    assert_string_equal(entries[2].key, "");
    assert_int_equal(entries[3].kind, ORDER_CANCEL);
}

TEST(replies_are_read_as_written)
{
    struct partition_entry out = {
        .kind = ORDER_CANCEL, .created_us = 42, .outcome = ORDER_NOT_CANCELLABLE};
    struct partition_entry in;
    char *body = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&body, &length);

    assert_non_null(to);
    partition_write_reply(to, &out);
    out.kind = ORDER_BUY;
    out.hold_until_us = 1763625600000000;
    partition_write_reply(to, &out);
    out.kind = ORDER_EXPIRE;
    partition_write_reply(to, &out);
    fclose(to);
    const char *at = body;
    assert_true(partition_read_reply(&at, &in));
    assert_int_equal(in.kind, ORDER_CANCEL);
    assert_int_equal(in.outcome, ORDER_NOT_CANCELLABLE);
    assert_int_equal(in.created_us, 42);
    assert_true(partition_read_reply(&at, &in));
    assert_int_equal(in.kind, ORDER_BUY);
    assert_int_equal(in.hold_until_us, 1763625600000000);
    assert_int_equal(in.created_us, 0);
    assert_true(partition_read_reply(&at, &in));
    assert_int_equal(in.kind, ORDER_EXPIRE);
    assert_int_equal(in.hold_until_us, 0);
    assert_int_equal(in.created_us, 42);
    assert_false(partition_read_reply(&at, &in));
    free(body);
}

#define ID "01930000-0000-7000-8000-000000000001"

TEST(other_things_are_no_request)
{
    static const char *const bodies[] = {
        "",
        "1",
        "1 ",
        "1 5",
        "2 5\nbuy " ID "\n",
        "1 x\nbuy " ID "\n",
        "1 5\nbuy " ID,
        "1 5\nbuy 01930000\n",
        "1 5\nbuy " ID " more\n",
        "1 5\nsteal " ID "\n",
        "1 5\nbuy " ID "\n\n",
        "1 5\nrestock " ID "\n",
        "1 5\nrestock " ID " 1 2\n",
        "1 5\nrestock " ID " 1 x 3 \n",
        "1 5\nrestock " ID " 1 2 3 a b\n",
        "1 5\nrestock " ID " 1 2 99999999999999999999999999 \n",
        "1 0\nbuy " ID "\n",
        "1 -5\nbuy " ID "\n",
        "1 9223372036854775808\nbuy " ID "\n",
        "1 5\nrestock " ID " 0 2 3 \n",
        "1 5\nrestock " ID " 1 0 3 \n",
        "1 5\nrestock " ID " 1 -2 3 \n",
        "1 5\nrestock " ID " 1 +2 3 \n",
        "1 5\nrestock " ID " 1 1000001 3 \n",
        "1 5\nrestock " ID " 1 2 -3 \n",
        "1 5\nrestock " ID " 1 2 3 a\tb\n",
    };

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        int count = 3;
        if (partition_read_request(bodies[i], entries, &count) || count != 3)
            fail_msg("taken for a request: %s", bodies[i]);
    }
}

TEST(a_request_has_its_bound)
{
    char *body = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&body, &length);
    struct uuid id = {{0}};
    int count = PARTITION_BATCH - 1;

    assert_non_null(to);
    partition_write_product(to, 1);
    for (int i = 0; i < PARTITION_BATCH; i++)
        partition_write_id(to, &id);
    fflush(to);
    assert_true(partition_read_request(body, entries, &count));
    assert_int_equal(count, 2 * PARTITION_BATCH - 1);
    partition_write_id(to, &id);
    fclose(to);
    count = 0;
    assert_false(partition_read_request(body, entries, &count));
    free(body);
}
