/*
 * A relay's toxics, each with what happens without it: the test is both the client and the target,
 * on either side of a relay over TCP.
 */
#include "lib/t.h"

#include "base/clock.h"
#include "loadtest/relay/relay.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct error error;

enum { BULK_BYTES = 5000000, PIECE = 7919, QUIET_MS = 100 };

static int listener, client, target;
static struct relay *relay;

static void set(enum relay_type type, enum relay_stream stream, int64_t amount)
{
    struct relay_toxic toxic = {.type = type, .stream = stream, .amount = amount};

    t_done(relay_set(relay, &toxic, &error), error);
}

static int64_t bitten(enum relay_type type)
{
    return relay_count(relay).bitten[type];
}

static int connect_relay(void)
{
    int fd = t_connect((int)strtol(strchr(relay_address(relay), ':') + 1, NULL, 10));

    assert_true(fd >= 0);
    return fd;
}

static void say(int to, const char *bytes)
{
    assert_int_equal(send(to, bytes, strlen(bytes), MSG_NOSIGNAL), (ssize_t)strlen(bytes));
}

/* All of it, however it is cut. */
static void expect(int from, const char *bytes)
{
    char got[64] = "";
    size_t length = 0;

    while (length < strlen(bytes)) {
        ssize_t n = recv(from, got + length, strlen(bytes) - length, 0);
        assert_true(n > 0);
        length += (size_t)n;
    }
    assert_string_equal(got, bytes);
}

static void pass(int from, int to)
{
    say(from, "hello");
    expect(to, "hello");
}

/* What arrives within a while: used where nothing may, after it is known to be kept. */
static bool is_quiet(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    return poll(&ready, 1, QUIET_MS) == 0;
}

static void expect_end(int fd)
{
    char letter;
    assert_int_equal(recv(fd, &letter, 1, 0), 0);
}

TEST(without_a_toxic_all_passes)
{
    pass(client, target);
    pass(target, client);
    struct relay_counts counts = relay_count(relay);
    assert_int_equal(counts.bytes[RELAY_UPSTREAM], 5);
    assert_int_equal(counts.bytes[RELAY_DOWNSTREAM], 5);
    for (int type = 0; type < RELAY_TYPES; type++)
        assert_int_equal(counts.bitten[type], 0);
}

TEST(it_listens_for_this_machine_alone)
{
    assert_memory_equal(relay_address(relay), "127.0.0.1:", 10);
}

TEST(latency_is_one_direction_s)
{
    set(RELAY_LATENCY, RELAY_UPSTREAM, 60000);
    pass(target, client);
    assert_int_equal(bitten(RELAY_LATENCY), 0);
    int64_t began_us = clock_mono_us();
    pass(client, target);
    assert_true(clock_mono_us() - began_us >= 60000);
    assert_int_equal(bitten(RELAY_LATENCY), 1);
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

/* More than a relay holds, then an end, which must not overtake what is held. */
TEST(latency_changes_no_order)
{
    pthread_t sender;
    char piece[PIECE];
    size_t at = 0;

    set(RELAY_LATENCY, RELAY_UPSTREAM, 2000);
    assert_int_equal(pthread_create(&sender, NULL, send_bulk, NULL), 0);
    for (;;) {
        ssize_t got = recv(target, piece, sizeof piece, 0);
        assert_true(got >= 0);
        if (got == 0)
            break;
        for (ssize_t i = 0; i < got; i++)
            assert_int_equal(piece[i], letter_at(at + (size_t)i));
        at += (size_t)got;
    }
    pthread_join(sender, NULL);
    assert_int_equal(at, BULK_BYTES);
    pass(target, client); /* the other direction goes on until it ends too */
    close(target);
    expect_end(client);
    target = -1;
}

/* What stands behind the stall is kept, to its end, and the other direction goes on. */
TEST(a_stall_is_one_direction_s)
{
    set(RELAY_STALL, RELAY_DOWNSTREAM, 0);
    pass(client, target);
    assert_int_equal(bitten(RELAY_STALL), 0);
    say(target, "kept");
    T_UNTIL(bitten(RELAY_STALL) == 1);
    shutdown(target, SHUT_WR);
    pass(client, target);
    assert_true(is_quiet(client));
    relay_clear(relay, RELAY_STALL);
    expect(client, "kept");
    expect_end(client);
    assert_int_equal(bitten(RELAY_STALL), 1);
    set(RELAY_STALL, RELAY_UPSTREAM, 0);
    shutdown(client, SHUT_WR); /* an end with nothing before it is kept too */
    assert_true(is_quiet(target));
    relay_clear(relay, RELAY_STALL);
    expect_end(target);
}

TEST(peers_see_a_reset)
{
    char letter;

    set(RELAY_RESET_PEER, RELAY_UPSTREAM, 0);
    assert_int_equal(recv(client, &letter, 1, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    assert_int_equal(recv(target, &letter, 1, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    assert_int_equal(bitten(RELAY_RESET_PEER), 1);
}

TEST(refuse_keeps_who_is_there)
{
    set(RELAY_REFUSE, RELAY_UPSTREAM, 0);
    int other = connect_relay();
    expect_end(other);
    close(other);
    pass(client, target);
    pass(target, client);
    assert_int_equal(bitten(RELAY_REFUSE), 1);
}

TEST(a_unix_socket_is_relayed_and_removed)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat found;

    snprintf(at.sun_path, sizeof at.sun_path, "%s/s", t_folder());
    struct relay *other = relay_start(RELAY_BYTES, at.sun_path, relay_address(relay), &error);
    assert_non_null(other);
    /* What stands there belongs to somebody. */
    assert_null(relay_start(RELAY_BYTES, at.sun_path, relay_address(relay), &error));
    t_says(error.text, "cannot listen on");
    int through = t_socket(AF_UNIX);
    assert_int_equal(connect(through, (struct sockaddr *)&at, sizeof at), 0);
    int there = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    pass(through, there);
    pass(there, through);
    relay_stop(other); /* with a connection open */
    expect_end(through);
    close(through);
    close(there);
    assert_int_equal(stat(at.sun_path, &found), -1);
}

/* A child that holds every descriptor, as one does between fork and exec: what the relay has closed
 * and freed stays readable, and must not be heard of. */
TEST(a_link_that_is_gone_is_silent_though_a_child_holds_it)
{
    pass(client, target);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_true(child > 0);
    set(RELAY_RESET_PEER, RELAY_UPSTREAM, 0);
    T_UNTIL(bitten(RELAY_RESET_PEER) == 1);
    relay_clear(relay, RELAY_RESET_PEER);
    T_UNTIL(relay_count(relay).open == 0);
    (void)send(client, "late", 4, MSG_NOSIGNAL);
    (void)send(target, "late", 4, MSG_NOSIGNAL);
    clock_sleep_until(clock_mono_us() + QUIET_MS * CLOCK_US_PER_MS);
    assert_int_equal(relay_count(relay).open, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

TEST(what_makes_no_sense_is_refused)
{
    static const struct {
        struct relay_toxic toxic;
        const char *says;
    } wrong[] = {
        {{.type = RELAY_TYPES}, "no toxic"},
        {{.type = RELAY_LATENCY, .amount = -1}, "latency takes no negative"},
        {{.type = RELAY_SWALLOW_REPLY, .what = "COMMIT"}, "bytes alone"},
    };
    static const char *const targets[] = {"localhost:1", "127.0.0.1"};
    char path[200] = "/";

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(relay_set(relay, &wrong[i].toxic, &error));
        t_says(error.text, wrong[i].says);
    }
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        assert_null(relay_start(RELAY_BYTES, NULL, targets[i], &error));
        t_says(error.text, "in digits");
    }
    memset(path + 1, 'x', 150);
    assert_null(relay_start(RELAY_BYTES, path, relay_address(relay), &error));
    t_says(error.text, "bytes at most");
}

BEFORE_EACH()
{
    int port = 0;

    listener = t_listen(&port);
    relay = relay_start(RELAY_BYTES, NULL, t_text("127.0.0.1:%d", port), &error);
    t_done(relay, error);
    client = connect_relay();
    target = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(target >= 0);
}

AFTER_EACH()
{
    relay_stop(relay);
    close(client);
    if (target >= 0)
        close(target);
    close(listener);
}
