/* The generator's connections: what is closed is not heard of again, and which answers it reads. */
#include "lib/t.h"

#include "harness/fixtures/has.h"
#include "loadtest/engine/client.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that holds every descriptor, as one does between fork and exec. */
static pid_t hold_everything(void)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_true(child > 0);
    return child;
}

TEST(a_closed_one_is_silent_though_a_child_holds_it)
{
    struct client_target target;
    struct client client;
    struct epoll_event event;
    struct error error;
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int port = 0, listener = t_listen(&port);
    assert_true(client_resolve(&target, t_text("http://127.0.0.1:%d", port), &error));
    client_init(&client, &target);
    assert_true(client_open(&client, epoll_fd, &error));
    int server = accept(listener, NULL, NULL);
    assert_true(server >= 0);
    pid_t child = hold_everything();
    client_close(&client);
    assert_int_equal(write(server, "late", 4), 4); /* the child's copy can be read now */
    int told = epoll_wait(epoll_fd, &event, 1, 200);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(server);
    close(listener);
    close(epoll_fd);
    assert_int_equal(told, 0);
}

TEST(answers_of_ours_are_read)
{
    static const char text[] = "HTTP/1.1 409 Conflict\r\nDate: now\r\ncontent-length: 3\r\n\r\nabc";
    struct answer answer;
    for (size_t used = 0; used < strlen(text); used++)
        assert_int_equal(answer_read(text, used, &answer), ANSWER_PARTIAL);
    assert_int_equal(answer_read(text, strlen(text), &answer), ANSWER_WHOLE);
    HAS(answer, status, 409, closes, false);
    static const char last[] =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    assert_int_equal(answer_read(last, strlen(last), &answer), ANSWER_WHOLE);
    assert_true(answer.closes);
}

TEST(answers_of_others_are_not)
{
    static const char *const texts[] = {
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 20x OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore",
        "nonsense\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct answer answer;
        if (answer_read(texts[i], strlen(texts[i]), &answer) != ANSWER_UNEXPECTED)
            fail_msg("taken for an answer: %s", texts[i]);
    }
}
