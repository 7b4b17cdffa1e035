#include "lib/t.h"

#include "base/clock.h"
#include "base/random/uuid.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* 2026-11-20T08:00:00.123456Z */
#define SOME_US INT64_C(1795161600123456)

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct uuid *)a)->bytes, ((const struct uuid *)b)->bytes, 16);
}

TEST(holds_time_version_and_variant)
{
    for (int i = 0; i < 1000; i++) {
        struct uuid id = uuid_v7(SOME_US);
        char text[UUID_TEXT_LENGTH + 1];

        uuid_format(&id, text);
        assert_int_equal(strlen(text), UUID_TEXT_LENGTH);
        /* 1795161600123 ms, version 7, 456 us in 4096ths of a millisecond */
        assert_memory_equal(text, "01a1f7f8-307b-774b-", 19);
        assert_non_null(strchr("89ab", text[19]));
    }
}

TEST(a_time_before_1970_counts_as_1970)
{
    struct uuid id = uuid_v7(-1);
    static const uint8_t zero[6] = {0};
    assert_memory_equal(id.bytes, zero, sizeof zero);
    assert_int_equal(id.bytes[6], 0x70);
}

TEST(every_bit_of_the_tail_is_random)
{
    uint8_t ones[8] = {0};
    uint8_t zeros[8] = {0};

    for (int i = 0; i < 256; i++) {
        struct uuid id = uuid_v7(SOME_US);
        for (int j = 0; j < 8; j++) {
            ones[j] |= id.bytes[8 + j];
            zeros[j] |= (uint8_t)~id.bytes[8 + j];
        }
    }
    assert_int_equal(ones[0], 0xbf);
    assert_int_equal(zeros[0], 0x7f);
    for (int j = 1; j < 8; j++) {
        assert_int_equal(ones[j], 0xff);
        assert_int_equal(zeros[j], 0xff);
    }
}

/* Unlike but for the index, of one group, and found by its text. */
TEST(a_group_is_in_the_id)
{
    char text[UUID_TEXT_LENGTH + 1];

    struct uuid id = uuid_v7_of_group(SOME_US, UINT64_C(0x0123456789ab), 0);
    uuid_format(&id, text);
    assert_string_equal(text, "01a1f7f8-307b-774b-8000-0123456789ab");
    assert_string_equal(uuid_group_text(text), "0123456789ab");
    id = uuid_v7_of_group(SOME_US, UINT64_C(0xffffffffffff), UUID_GROUP_MAX - 1);
    uuid_format(&id, text);
    assert_string_equal(text, "01a1f7f8-307b-774b-bfff-ffffffffffff");
    id = uuid_v7_of_group(SOME_US, 0, 1);
    uuid_format(&id, text);
    assert_string_equal(text, "01a1f7f8-307b-774b-8001-000000000000");
}

/* The cell stands where a balancer cuts it out of the text; the rest stays as it was. */
TEST(a_cell_is_in_the_id)
{
    static const struct {
        unsigned cell;
        const char *text;
    } rows[] = {{1, "01a1f7f8-307b-774b-8005-01ffffffffff"},
                {UUID_CELLS_MAX, "01a1f7f8-307b-774b-8005-40ffffffffff"},
                {0, "01a1f7f8-307b-774b-8005-ffffffffffff"}};
    char text[UUID_TEXT_LENGTH + 1];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct uuid id = uuid_v7_of_group(SOME_US, UINT64_C(0xffffffffffff), 5);
        uuid_set_cell(&id, rows[i].cell);
        uuid_format(&id, text);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(uuid_cell(&id), rows[i].cell ? rows[i].cell : 0xff);
        assert_ptr_equal(uuid_group_text(text), text + UUID_CELL_AT);
    }
}

/* In bytes and in text, from one microsecond to the next, over the seams of a millisecond and of a
 * byte. */
TEST(sorts_by_time)
{
    struct uuid last = uuid_v7(SOME_US);
    char last_text[UUID_TEXT_LENGTH + 1];
    uuid_format(&last, last_text);

    for (int64_t us = SOME_US + 1; us < SOME_US + 300000; us++) {
        struct uuid id = uuid_v7(us);
        char text[UUID_TEXT_LENGTH + 1];
        uuid_format(&id, text);
        assert_true(compare(&last, &id) < 0);
        assert_true(strcmp(last_text, text) < 0);
        last = id;
        memcpy(last_text, text, sizeof text);
    }
}

enum { THREADS = 16, EACH = 5000 };

static void *make_ids(void *out)
{
    struct uuid *ids = out;
    for (int i = 0; i < EACH; i++)
        ids[i] = uuid_v7(SOME_US); /* the same time for all: the tail alone must tell them apart */
    return NULL;
}

TEST(unique_over_many_threads)
{
    struct uuid *ids = test_calloc((size_t)THREADS * EACH, sizeof *ids);
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_ids, ids + i * EACH), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    qsort(ids, (size_t)THREADS * EACH, sizeof *ids, compare);
    for (size_t i = 1; i < (size_t)THREADS * EACH; i++)
        assert_false(uuid_equal(&ids[i - 1], &ids[i]));
    test_free(ids);
}

TEST(text_goes_round)
{
    static const char lower[] = "00112233-4455-6677-8899-aabbccddeeff";
    static const uint8_t bytes[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                      0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
    struct uuid a;
    struct uuid b;
    char text[UUID_TEXT_LENGTH + 1];

    assert_true(uuid_parse(lower, &a));
    assert_memory_equal(a.bytes, bytes, sizeof bytes);
    uuid_format(&a, text);
    assert_string_equal(text, lower);
    assert_true(uuid_parse("00112233-4455-6677-8899-AABBccddEEFF", &b));
    assert_true(uuid_equal(&a, &b));
    b.bytes[15] ^= 1;
    assert_false(uuid_equal(&a, &b));
}

TEST(refuses_everything_else)
{
    static const char *const texts[] = {
        "",
        "-",
        "0",
        "00112233445566778899aabbccddeeff",
        "{00112233-4455-6677-8899-aabbccddeeff}",
        "urn:uuid:00112233-4455-6677-8899-aabbccddeeff",
        "00112233-4455-6677-8899-aabbccddeef",
        "00112233-4455-6677-8899-aabbccddeeff0",
        "00112233-4455-6677-8899-aabbccddeeff ",
        " 0112233-4455-6677-8899-aabbccddeeff",
        "00112233-4455-6677-8899-aabbccddeefg",
        "00112233-4455-6677-8899aabbccddeeff-",
        "0011223-34455-6677-8899-aabbccddeeff",
        "00112233_4455_6677_8899_aabbccddeeff",
        "+0112233-4455-6677-8899-aabbccddeeff",
        "0x112233-4455-6677-8899-aabbccddeeff",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct uuid id = {.bytes = {42}};
        if (uuid_parse(texts[i], &id))
            fail_msg("taken: %s", texts[i]);
        assert_int_equal(id.bytes[0], 42);
    }
}

TEST(never_reads_behind_the_end)
{
    static const char whole[] = "00112233-4455-6677-8899-aabbccddeeff";

    for (size_t cut = 0; cut < UUID_TEXT_LENGTH; cut++) {
        char *text = test_malloc(cut + 1);
        struct uuid id;
        memcpy(text, whole, cut);
        text[cut] = '\0';
        assert_false(uuid_parse(text, &id));
        test_free(text);
    }
}
