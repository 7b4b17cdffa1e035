/*
 * An eventfd wakes who waits for a stop, and a timer's signal ends the grace: both can be used in a
 * signal handler, and neither needs a thread that could itself be stuck.
 */
#include "base/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static struct {
    atomic_int signals;
    atomic_int status;
    atomic_flag leaving;
    int event_fd;
    timer_t grace;
} stop = {.status = 1, .leaving = ATOMIC_FLAG_INIT, .event_fd = -1};

void stop_soon(void)
{
    static const struct itimerspec grace = {.it_value = {.tv_nsec = STOP_GRACE_US * 1000L}};

    /* Only once: it must not be put off by those who ask again. */
    if (!atomic_flag_test_and_set(&stop.leaving) && timer_settime(stop.grace, 0, &grace, NULL) != 0)
        _exit(atomic_load(&stop.status));
}

static void on_stop(int number)
{
    const uint64_t one = 1;
    int saved = errno;

    (void)number;
    if (atomic_fetch_add(&stop.signals, 1) + 1 > 1 || atomic_load(&stop.status) == 0)
        stop_soon();
    ssize_t ignored = write(stop.event_fd, &one, sizeof one);
    (void)ignored; /* it fails only when it is readable anyway */
    errno = saved;
}

static void on_grace_over(int number)
{
    static const char text[] = "seckill-server: some threads did not end in time\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);

    (void)number;
    (void)ignored;
    _exit(atomic_load(&stop.status));
}

bool stop_begin(struct error *error)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct sigaction stopping = {.sa_handler = on_stop};
    struct sigaction over = {.sa_handler = on_grace_over};

    stop.event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (stop.event_fd < 0 || timer_create(CLOCK_MONOTONIC, &event, &stop.grace) != 0)
        return error_set(error, ERROR_INTERNAL, "stopping cannot be prepared: %s", strerror(errno));
    sigemptyset(&stopping.sa_mask);
    sigemptyset(&over.sa_mask);
    sigaction(SIGALRM, &over, NULL);
    sigaction(SIGTERM, &stopping, NULL);
    sigaction(SIGINT, &stopping, NULL);
    return true;
}

int stop_fd(void)
{
    return stop.event_fd;
}

int stop_count(void)
{
    return atomic_load(&stop.signals);
}

void stop_set_status(int status)
{
    atomic_store(&stop.status, status);
}
