/*
 * Backends that are connected and behave badly: one that goes away in the middle of the start, one
 * that sends a byte at a time. Neither ends the server, and neither gets more than a call's time.
 */
#include "lib/peer.h"
#include "lib/server.h"
#include "lib/t.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { URL_SIZE = 96 };

/* What is written to it from its first answer on would raise SIGPIPE. */
static void one_that_leaves_does_not_end_the_start(void **state)
{
    static const char ok[] = "+OK\r\n";
    struct peer *peer = peer_start(PEER_LEAVES, ok, sizeof ok - 1);
    char url[URL_SIZE];

    (void)state;
    snprintf(url, sizeof url, "unix://%s", peer_path(peer));
    struct server *server = server_start("--redis", url, "--stock-redis", url);
    assert_int_equal(server_status(server, "GET", "/healthz", NULL, NULL), 200);
    server_stop(server);
    peer_stop(peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_that_leaves_does_not_end_the_start, server_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
