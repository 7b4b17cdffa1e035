/* The search for the highest rate that holds, on made-up services: it ends, it finds the rate where
 * there is one, and noise does not lead it astray. */
#include "harness/fixtures/has.h"
#include "lib/t.h"

#include "loadtest/commands/capacity/capacity_search.h"

/* Holds up to a rate; around it, in `noise` percent of it either way, every other time. */
struct service {
    int64_t holds_to;
    int64_t noise;
    int asked;
};

static bool serves(struct service *service, int64_t rate)
{
    int64_t width = service->holds_to * service->noise / 100;
    service->asked++;
    if (rate > service->holds_to - width && rate <= service->holds_to + width)
        return service->asked % 2 == 0;
    return rate <= service->holds_to;
}

static struct capacity_search search;

static void find(struct service *service, int64_t least, int64_t first, int64_t most)
{
    int before = service->asked;
    capacity_begin(&search, least, first, most);
    while (search.stage != CAPACITY_ENDED) {
        assert_in_range(search.rate, least, most);
        capacity_tell(&search, serves(service, search.rate));
        assert_in_range(search.runs, 1, CAPACITY_RUNS_MAX);
    }
    assert_int_equal(search.runs, service->asked - before);
}

/* To five percent, from wherever it begins. */
TEST(the_rate_of_a_steady_service_is_found)
{
    static const int64_t rates[] = {7, 150, 199, 200, 201, 1000, 13579, 400000};
    static const int64_t first[] = {1, 200, 5000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        for (size_t j = 0; j < sizeof first / sizeof first[0]; j++) {
            struct service service = {.holds_to = rates[i]};
            find(&service, 1, first[j], 1000000);
            assert_in_range(search.found, rates[i] - rates[i] / 20 - 1, rates[i]);
            assert_true(search.fails > rates[i]);
            HAS(search, held, CAPACITY_CONFIRMATIONS, failed, 0);
            assert_in_range(search.runs, 4, 40);
        }
    }
}

/* As long as what is asked for by default: three minutes are enough for 30 runs. */
TEST(it_takes_few_runs)
{
    for (int64_t rate = 50; rate < 60000; rate += rate / 7 + 1) {
        struct service service = {.holds_to = rate};
        find(&service, 1, 200, 1000000);
        assert_in_range(search.runs, 4, 20);
    }
}

/* What it finds, the service holds at least every other time. */
TEST(noise_moves_it_by_no_more_than_the_noise)
{
    for (int64_t rate = 100; rate < 100000; rate += rate / 9 + 1) {
        struct service service = {.holds_to = rate, .noise = 20, .asked = (int)(rate % 2)};
        find(&service, 1, 200, 1000000);
        assert_in_range(search.found, rate / 2, rate + rate / 5);
        assert_in_range(search.runs, 4, CAPACITY_RUNS_MAX - 1);
    }
}

TEST(one_that_never_holds_has_no_rate)
{
    struct service service = {.holds_to = 0};
    find(&service, 1, 200, 1000000);
    HAS(search, found, 0, holds, 0, fails, 1);
    service = (struct service){.holds_to = 99};
    find(&service, 100, 100, 1000000);
    HAS(search, found, 0, runs, 1);
}

TEST(one_that_always_holds_has_the_highest)
{
    struct service service = {.holds_to = 1000000000};
    find(&service, 1, 200, 100000);
    HAS(search, found, 100000, fails, 0);
    find(&service, 5, 5, 5);
    HAS(search, found, 5, runs, 1 + CAPACITY_CONFIRMATIONS);
}

/* One failure among those that confirm is noise; the second is not, and a tenth less is asked. */
TEST(a_rate_that_is_not_confirmed_is_given_up)
{
    capacity_begin(&search, 1, 1000, 1000);
    capacity_tell(&search, true);
    assert_int_equal(search.stage, CAPACITY_CONFIRMS);
    capacity_tell(&search, false);
    assert_int_equal(search.rate, 1000);
    capacity_tell(&search, true);
    capacity_tell(&search, false);
    HAS(search, stage, CAPACITY_CONFIRMS, rate, 900, fails, 1000, holds, 0);
    capacity_tell(&search, true);
    capacity_tell(&search, false);
    capacity_tell(&search, true);
    capacity_tell(&search, true);
    HAS(search, found, 900, held, 3, failed, 1);
}

/* Whatever it is told. */
TEST(it_ends)
{
    for (unsigned answers = 0; answers < 4096; answers++) {
        capacity_begin(&search, 1, 200, 1000000);
        for (int i = 0; search.stage != CAPACITY_ENDED; i++) {
            assert_in_range(i, 0, CAPACITY_RUNS_MAX - 1);
            assert_in_range(search.rate, 1, 1000000);
            capacity_tell(&search, answers >> (i % 12) & 1);
        }
        assert_in_range(search.found, 0, 1000000);
    }
}
