/* See redis_own.h: processes that are started, asked and killed. */
#include "lib/redis/redis_own.h"

#include "base/clock.h"
#include "lib/t.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWN_MAX = 12, ARGUMENTS_MAX = 48, TRIES = 20, PAUSE_US = 10000 };

struct redis_own {
    pid_t pid;
    int port;
    bool tls;
    const char *folder;
};

static struct redis_own *all[OWN_MAX];

static void run(const struct redis_own *redis, const char *const arguments[])
{
    char log[64];
    char *argv[ARGUMENTS_MAX];
    int n = 0;

    for (; arguments[n]; n++)
        memcpy(&argv[n], &arguments[n], sizeof *argv);
    argv[n] = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(log, sizeof log, "%s/log", redis->folder);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || chdir(redis->folder) != 0)
        _exit(126);
    const char *program =
        getenv("SECKILL_TEST_REDIS_SERVER"); /* of the stack: tests/with-stack.sh */
    execvp(program ? program : "redis-server", argv);
    _exit(127);
}

static void print_log(const struct redis_own *redis)
{
    char path[64];
    int c;

    snprintf(path, sizeof path, "%s/log", redis->folder);
    FILE *from = fopen(path, "r");
    while (from && (c = fgetc(from)) != EOF)
        fputc(c, stderr);
    if (from)
        fclose(from);
}

static bool answers(const struct redis_own *redis)
{
    redisContext *context = redisConnect("127.0.0.1", redis->port);
    redisReply *reply =
        context && !context->err && !redis->tls ? redisCommand(context, "PING") : NULL;
    /* NOAUTH is an answer; with TLS an open port has to do. */
    bool done = reply || (redis->tls && context && !context->err);

    if (reply)
        freeReplyObject(reply);
    if (context)
        redisFree(context);
    return done;
}

/* False when it has ended at once, which a port that is taken makes it do. */
static bool wait_answer(struct redis_own *redis)
{
    int64_t until_us = clock_mono_us() + t_patience_us();

    while (!answers(redis)) {
        if (waitpid(redis->pid, NULL, WNOHANG) == redis->pid)
            return false;
        if (clock_mono_us() >= until_us) {
            print_log(redis);
            fail_msg("redis-server does not answer");
        }
        clock_sleep_until(clock_mono_us() + PAUSE_US);
    }
    return true;
}

static struct redis_own *make(void)
{
    for (int i = 0; i < OWN_MAX; i++) {
        if (all[i])
            continue;
        all[i] = calloc(1, sizeof **all);
        assert_non_null(all[i]);
        all[i]->folder = t_folder();
        return all[i];
    }
    fail_msg("more than %d servers", OWN_MAX);
    return NULL;
}

/* `arguments` has "PORT" where the port belongs. */
static struct redis_own *start(struct redis_own *redis, const char **arguments)
{
    char port[8];

    for (int i = 0; i < TRIES; i++) {
        redis->port = t_free_port(); /* where Redis is too late, another */
        snprintf(port, sizeof port, "%d", redis->port);
        const char *argv[ARGUMENTS_MAX];
        int n = 0;
        for (; arguments[n]; n++)
            argv[n] = strcmp(arguments[n], "PORT") == 0 ? port : arguments[n];
        argv[n] = NULL;
        redis->pid = fork();
        if (redis->pid == 0)
            run(redis, argv);
        assert_true(redis->pid > 0);
        if (wait_answer(redis))
            return redis;
    }
    print_log(redis);
    fail_msg("redis-server ends at once");
    return NULL;
}

struct redis_own *redis_own_start(const char *const flags[])
{
    const char *arguments[ARGUMENTS_MAX] = {"redis-server", "--save", "",  "--bind",
                                            "127.0.0.1",    "-::1",   NULL};
    struct redis_own *redis = make();
    int n = 6;

    for (int i = 0; flags[i]; i++) {
        assert_true(n < ARGUMENTS_MAX - 4);
        redis->tls |= strcmp(flags[i], "--tls-port") == 0;
        arguments[n++] = flags[i];
    }
    arguments[n++] = "--port";
    arguments[n++] = redis->tls ? "0" : "PORT";
    arguments[n] = NULL;
    return start(redis, arguments);
}

struct redis_own *redis_own_sentinel(const struct redis_own *primary, const char *name, int quorum)
{
    struct redis_own *redis = make();
    char path[64];

    snprintf(path, sizeof path, "%s/sentinel.conf", redis->folder);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    fprintf(to,
            "bind 127.0.0.1\nsentinel monitor %s 127.0.0.1 %d %d\n"
            "sentinel down-after-milliseconds %s 1000\nsentinel failover-timeout %s 5000\n",
            name, primary->port, quorum, name, name);
    fclose(to);
    return start(redis,
                 (const char *[]){"redis-server", path, "--sentinel", "--port", "PORT", NULL});
}

int redis_own_port(const struct redis_own *redis)
{
    return redis->port;
}

const char *redis_own_folder(const struct redis_own *redis)
{
    return redis->folder;
}

static void print_reply(const redisReply *reply, char *out, size_t size)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        snprintf(out, size, "%lld", reply->integer);
    else if (reply->type == REDIS_REPLY_ARRAY && reply->elements >= 2)
        snprintf(out, size, "%s %s", reply->element[0]->str ? reply->element[0]->str : "",
                 reply->element[1]->str ? reply->element[1]->str : "");
    else
        snprintf(out, size, "%s", reply->str ? reply->str : "");
}

const char *redis_own_tell(const struct redis_own *redis, const char *password, const char *format,
                           ...)
{
    static _Thread_local char text[4096];
    redisContext *context = redisConnect("127.0.0.1", redis->port);
    va_list args;

    assert_non_null(context);
    if (password)
        freeReplyObject(redisCommand(context, "AUTH %s", password));
    va_start(args, format);
    redisReply *reply = redisvCommand(context, format, args);
    va_end(args);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", format, reply ? reply->str : context->errstr);
    else
        print_reply(reply, text, sizeof text);
    freeReplyObject(reply);
    redisFree(context);
    return text;
}

static void end_process(struct redis_own *redis)
{
    if (redis->pid <= 0)
        return;
    kill(redis->pid, SIGKILL);
    waitpid(redis->pid, NULL, 0);
    redis->pid = 0;
}

void redis_own_kill(struct redis_own *redis)
{
    end_process(redis);
}

int redis_own_teardown(void **state)
{
    (void)state;
    for (int i = 0; i < OWN_MAX; i++) {
        if (!all[i])
            continue;
        end_process(all[i]);
        free(all[i]);
        all[i] = NULL;
    }
    return 0;
}
