#include "lib/t.h"

#include "base/random/random.h"

#include <pthread.h>
#include <string.h>

TEST(bytes_fill_all_and_no_more)
{
    enum { LENGTH = 33, TRIES = 64 };
    unsigned char seen[LENGTH] = {0};

    for (int i = 0; i < TRIES; i++) {
        unsigned char bytes[LENGTH + 1] = {[LENGTH] = 0x5a};
        random_bytes(bytes, LENGTH);
        assert_int_equal(bytes[LENGTH], 0x5a);
        for (int j = 0; j < LENGTH; j++)
            seen[j] |= bytes[j];
    }
    for (int j = 0; j < LENGTH; j++)
        assert_int_not_equal(seen[j], 0);
    random_bytes(NULL, 0);
}

TEST(below_stays_below)
{
    static const uint64_t bounds[] = {
        1, 2, 3, 1000, (UINT64_C(1) << 63) + 1, UINT64_MAX,
    };

    assert_int_equal(random_below(0), 0);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        for (int j = 0; j < 1000; j++)
            assert_true(random_below(bounds[i]) < bounds[i]);
    }
}

/* 60,000 throws of a die: 10,000 a face, standard deviation 91. Ten of them is no accident. */
TEST(below_is_even)
{
    int faces[6] = {0};
    for (int i = 0; i < 60000; i++)
        faces[random_below(6)]++;
    for (int i = 0; i < 6; i++)
        assert_in_range(faces[i], 9090, 10910);
}

static void *throw_some(void *out)
{
    uint64_t *numbers = out;
    for (int i = 0; i < 4; i++)
        numbers[i] = random_below(UINT64_MAX);
    return NULL;
}

TEST(threads_have_sequences_of_their_own)
{
    uint64_t numbers[8][4];
    pthread_t threads[8];

    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, throw_some, numbers[i]), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(numbers[i], numbers[j], sizeof numbers[i]);
    }
}

TEST(tokens_are_32_digits_and_differ)
{
    char tokens[100][RANDOM_TOKEN_LENGTH + 1];

    for (int i = 0; i < 100; i++) {
        random_token(tokens[i]);
        assert_int_equal(strlen(tokens[i]), RANDOM_TOKEN_LENGTH);
        assert_int_equal(strspn(tokens[i], "0123456789abcdef"), RANDOM_TOKEN_LENGTH);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(tokens[i], tokens[j]);
    }
}

TEST(backoff_grows_to_its_bound)
{
    for (unsigned attempts = 1; attempts < 40; attempts++) {
        int64_t bound_us = attempts < 7 ? 500 << (attempts - 1) : 20000;
        int64_t most_us = 0;
        for (int i = 0; i < 2000; i++) {
            int64_t pause_us = random_backoff_us(attempts);
            assert_in_range(pause_us, 0, bound_us - 1);
            most_us = pause_us > most_us ? pause_us : most_us;
        }
        assert_true(most_us > bound_us / 2);
    }
}
