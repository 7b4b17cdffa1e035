/* The generator's connections: what is closed is not heard of again. */
#include "lib/t.h"

#include "loadtest/engine/client.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

static int listen_here(struct client_target *target)
{
    int listener = t_socket(AF_INET);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    *target = (struct client_target){.address_length = sizeof at};
    *(struct sockaddr_in *)(void *)&target->address = at;
    return listener;
}

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
    int listener = listen_here(&target);
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
