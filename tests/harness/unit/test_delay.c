/* A Redis that is further away: the test is both its client and its server. */
#include "lib/t.h"

#include "base/clock.h"
#include "loadtest/fleet/delay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[] = "/tmp/seckill-delay-test.XXXXXX";
static char path[108];
static int listener, client, server;
static struct delay *delay;

static int unix_socket(const char *at, bool listens)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = t_socket(AF_UNIX);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", at);
    if (listens) {
        assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
        assert_int_equal(listen(fd, 8), 0);
    } else {
        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    }
    return fd;
}

static void pass(int from, int to, char letter)
{
    char got = 0;
    assert_int_equal(send(from, &letter, 1, MSG_NOSIGNAL), 1);
    assert_int_equal(recv(to, &got, 1, 0), 1);
    assert_int_equal(got, letter);
}

static void a_round_trip_takes_its_time(void **state)
{
    (void)state;
    pass(client, server, 'a');
    pass(server, client, 'b');
    delay_set(delay, 60000);
    for (int i = 0; i < 3; i++) {
        int64_t began_us = clock_mono_us();
        pass(client, server, 'c');
        assert_true(clock_mono_us() - began_us >= 30000);
        pass(server, client, 'd');
        assert_true(clock_mono_us() - began_us >= 60000);
    }
    delay_set(delay, 0);
    pass(client, server, 'e');
}

static void nobody_behind_it(void **state)
{
    (void)state;
    char letter;
    close(listener);
    listener = -1;
    unlink(path);
    int other = unix_socket(delay_url(delay) + 7, false);
    assert_int_equal(recv(other, &letter, 1, 0), 0);
    close(other);
    struct error error;
    assert_null(delay_create("redis://127.0.0.1:6379/0", &error));
    assert_non_null(strstr(error.text, "unix socket"));
}

static int set_up(void **state)
{
    char url[128];
    struct error error;
    (void)state;
    snprintf(folder + strlen(folder) - 6, 7, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    snprintf(url, sizeof url, "unix://%s", path);
    listener = unix_socket(path, true);
    delay = delay_create(url, &error);
    if (!delay)
        fail_msg("%s", error.text);
    client = unix_socket(delay_url(delay) + 7, false);
    server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(server >= 0);
    return 0;
}

static int tear_down(void **state)
{
    char place[128];
    (void)state;
    snprintf(place, sizeof place, "%s", delay_url(delay) + 7);
    delay_destroy(delay);
    assert_int_not_equal(access(place, F_OK), 0);
    close(client);
    if (server >= 0)
        close(server);
    if (listener >= 0)
        close(listener);
    unlink(path);
    rmdir(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_round_trip_takes_its_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_behind_it, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
