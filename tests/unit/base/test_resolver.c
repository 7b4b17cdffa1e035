/*
 * Look-ups that are answered late, or by nobody. "localhost" is in every machine's own list.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "base/connect/resolver.h"
#include "base/failpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHORT_US = 50000, PAUSE_MS = 6000 }; /* the pause as in main */

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;

    assert_non_null(tasks);
    while (readdir(tasks))
        count++;
    closedir(tasks);
    return count - 2; /* "." and ".." */
}

static enum error_code ask(struct resolver *resolver, const char *name, int64_t wait_us,
                           const atomic_bool *stopped)
{
    struct resolved found;
    struct error error = {ERROR_NONE, ""};
    bool answered =
        resolver_ask(resolver, name, clock_mono_us() + wait_us, stopped, &found, &error);

    assert_true(answered == (error.code == ERROR_NONE));
    if (answered)
        assert_true(found.count > 0 && found.addresses[0][0]);
    return error.code;
}

TEST(only_digits_are_an_address)
{
    char out[RESOLVER_ADDRESS_SIZE];

    assert_true(resolver_is_numeric("127.0.0.1", out));
    assert_string_equal(out, "127.0.0.1");
    assert_true(resolver_is_numeric("0::1", out));
    assert_string_equal(out, "::1");
    assert_false(resolver_is_numeric("localhost", out));
}

static void wait_threads(int count)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    while (count_threads() > count && clock_mono_us() < until_us)
        clock_sleep_until(clock_mono_us() + CLOCK_US_PER_MS);
    assert_int_equal(count_threads(), count);
}

/* Asks, and comes back when the look-up's thread is held: so it is the first that the failpoint
 * counts, which tells of it on stderr. */
static void ask_until_held(struct resolver *resolver, const char *name)
{
    int64_t until_us = clock_mono_us() + t_patience_us();
    int kept = dup(STDERR_FILENO);
    char said[1024] = "";
    size_t length = 0;
    int ends[2];

    assert_true(kept >= 0);
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    enum error_code code = ask(resolver, name, SHORT_US, NULL);
    while (!strstr(said, "resolver.ask: hold") && clock_mono_us() < until_us) {
        ssize_t got = read(ends[0], said + length, sizeof said - 1 - length);
        length += got > 0 ? (size_t)got : 0;
        clock_sleep_until(clock_mono_us() + CLOCK_US_PER_MS);
    }
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[0]);
    close(ends[1]);
    if (!strstr(said, "resolver.ask: hold"))
        fail_msg("the look-up is not held: %s", said);
    assert_int_equal(code, ERROR_TIMEOUT);
}

/* Each caller has its own deadline, and all of them wait for one look-up; its answer, when it
 * comes, goes to those that wait by then. With the resolver gone it is dropped, and the address
 * sanitizer sees what is left. */
TEST(who_waits_is_not_held)
{
    struct resolver *resolver = resolver_create();
    atomic_bool stopped = true;

    ask_until_held(resolver, "localhost");
    int threads = count_threads(); /* a sanitizer may have one of its own */
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask(resolver, "localhost", SHORT_US, NULL), ERROR_TIMEOUT);
    assert_int_equal(count_threads(), threads);
    int64_t begun_us = clock_mono_us();
    assert_int_equal(ask(resolver, "localhost", t_patience_us(), &stopped), ERROR_TIMEOUT);
    assert_true(clock_mono_us() - begun_us < t_patience_us() / 2);
    /* Another name waits for nobody. */
    assert_int_equal(ask(resolver, "127.0.0.1", t_patience_us(), NULL), ERROR_NONE);
    /* The thread may be done before this one asks: then it is a look-up of its own, paused, too. */
    raise(SIGUSR1);
    assert_int_equal(ask(resolver, "localhost", t_patience_us(), NULL), ERROR_NONE);
    wait_threads(threads - 1);
    assert_int_equal(ask(resolver, "127.0.0.2", SHORT_US, NULL), ERROR_TIMEOUT);
    begun_us = clock_mono_us();
    resolver_destroy(resolver);
    assert_true(clock_mono_us() - begun_us < PAUSE_MS * CLOCK_US_PER_MS / 2);
    wait_threads(threads - 1);
}

int main(void)
{
    static const char failpoints[] = "resolver.ask=hold,resolver.ask=pause:6000@3+";

    setenv("SECKILL_FAILPOINTS", failpoints, 1);
    if (!failpoint_check(failpoints))
        return 1;
    return t_run_all(NULL, NULL);
}
