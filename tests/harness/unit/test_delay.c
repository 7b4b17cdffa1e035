/* The relay that stands for a Redis further away: the test is both its client and its server. */
#include "lib/t.h"

#include "base/clock.h"
#include "loadtest/fleet/delay.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BULK_BYTES = 5000000, PIECE = 7919 };

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

static char letter_at(size_t at)
{
    return (char)('a' + at % 23);
}

static void *send_bulk(void *argument)
{
    char piece[PIECE];
    (void)argument;
    for (size_t at = 0; at < BULK_BYTES;) {
        size_t length = BULK_BYTES - at < PIECE ? BULK_BYTES - at : PIECE;
        for (size_t i = 0; i < length; i++)
            piece[i] = letter_at(at + i);
        for (size_t sent = 0; sent < length;) {
            ssize_t n = send(client, piece + sent, length - sent, MSG_NOSIGNAL);
            if (n <= 0)
                return NULL; /* the reader will miss it */
            sent += (size_t)n;
        }
        at += length;
    }
    shutdown(client, SHUT_WR);
    return NULL;
}

/* More than it may hold, then an end, which must not overtake what is held. */
static void bytes_stay_in_order_to_their_end(void **state)
{
    (void)state;
    pthread_t sender;
    char piece[PIECE];
    size_t at = 0;
    delay_set(delay, 2000);
    assert_int_equal(pthread_create(&sender, NULL, send_bulk, NULL), 0);
    for (;;) {
        ssize_t got = recv(server, piece, sizeof piece, 0);
        assert_true(got >= 0);
        if (got == 0)
            break;
        for (ssize_t i = 0; i < got; i++)
            assert_int_equal(piece[i], letter_at(at + (size_t)i));
        at += (size_t)got;
    }
    pthread_join(sender, NULL);
    assert_int_equal(at, BULK_BYTES);
    /* The other direction goes on until it ends too. */
    pass(server, client, 'z');
    close(server);
    assert_int_equal(recv(client, piece, 1, 0), 0);
    server = -1;
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
        cmocka_unit_test_setup_teardown(bytes_stay_in_order_to_their_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_behind_it, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
