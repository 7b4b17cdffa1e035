/* The generator's connections: what is closed is not heard of again. */
#include "lib/t.h"

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
