/* A server's wall clock, stepped while it runs: its answers say so, and it sells on. */
#include "lib/t.h"

#include "harness/bed/own_bed.h"
#include "loadtest/fleet/clock_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t ahead(void)
{
    struct error error;
    int64_t ahead_s = 0;

    if (!clock_step_look(&bed->servers[0], &ahead_s, &error))
        fail_msg("%s", error.text);
    return ahead_s;
}

/* The look takes its time, in which a second may end. */
static void expect_about(int64_t wanted_s)
{
    int64_t ahead_s = ahead();

    if (ahead_s > wanted_s || ahead_s < wanted_s - 60)
        fail_msg("%lld s ahead, not %lld", (long long)ahead_s, (long long)wanted_s);
}

static void a_clock_goes_ahead_and_back(void **state)
{
    struct instance *server = &bed->servers[0];
    char path[128];
    struct error error;

    (void)state;
    assert_false(clock_step_set(server, 1, &error));
    snprintf(path, sizeof path, "%s/clock", bed->folder);
    instance_kill(server);
    if (!clock_step_prepare(server, path, &error)) {
        print_message("%s\n", error.text);
        skip();
    }
    if (!instance_start_again(server, &bed->options, SERVER, &error))
        fail_msg("%s", error.text);
    expect_about(0);
    assert_true(clock_step_set(server, 3600, &error));
    expect_about(3600);
    assert_true(clock_step_set(server, -86400, &error));
    expect_about(-86400);
    assert_true(clock_step_set(server, 0, &error));
    expect_about(0);
    assert_true(instance_all_alive(server, 1, &error));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_clock_goes_ahead_and_back)};

    return cmocka_run_group_tests(tests, own_bed_one, own_bed_end);
}
