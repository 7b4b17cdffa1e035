/*
 * Files of targets: one that is read has what every target has; one that is refused leaves nothing,
 * and the error names the file and is the same whatever a variable of the environment holds.
 */
#include "fuzz/fuzz.h"

#include "loadtest/shop/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_request(const struct shop_request *request)
{
    FUZZ_HOLDS(request->method && request->url);
    FUZZ_HOLDS(strncmp(request->url, "http://", 7) == 0 ||
               strncmp(request->url, "https://", 8) == 0);
    FUZZ_HOLDS(!request->chunked || request->body);
    FUZZ_HOLDS(request->expect == 0 || (request->expect >= 100 && request->expect <= 599));
    for (size_t i = 0; i < request->header_count; i++)
        FUZZ_HOLDS(request->headers[i].name && !strpbrk(request->headers[i].value, "\r\n"));
    for (size_t i = 0; i < request->take_count; i++)
        FUZZ_HOLDS(fill_is_name(request->takes[i].name) &&
                   (request->takes[i].from == SHOP_BODY) == (request->takes[i].at[0] == '/'));
}

static void check_rules(const struct shop_rule *rules, size_t count)
{
    FUZZ_HOLDS(count > 0);
    for (size_t i = 0; i < count; i++) {
        FUZZ_HOLDS(rules[i].meaning > SHOP_UNKNOWN && rules[i].meaning < SHOP_MEANINGS);
        FUZZ_HOLDS(rules[i].status_from <= rules[i].status_to && rules[i].status_to <= 599);
        FUZZ_HOLDS(!rules[i].pointer || rules[i].pointer[0] == '/');
        FUZZ_HOLDS(!rules[i].equals || rules[i].pointer);
    }
}

static void check_query(const struct target *target, const struct shop_query *query)
{
    FUZZ_HOLDS(!query->sql || (target->database && !query->command));
}

static void check_target(const struct target *target)
{
    FUZZ_HOLDS(target->path && target->name && target->stock >= 1 && target->limit >= 0);
    FUZZ_HOLDS(target->user_from >= 1 && target->user_from <= target->user_to);
    FUZZ_HOLDS(!target->users_csv || !target->users_command);
    FUZZ_HOLDS(target->repeats >= 0 && target->repeats <= 1);
    FUZZ_HOLDS(target->poll.every_us > 0 && target->quiet.within_us > 0);
    for (size_t i = 0; i < target->step_count; i++)
        check_request(&target->steps[i]);
    check_request(&target->purchase);
    check_rules(target->purchase.rules, target->purchase.rule_count);
    if (target->poll.method) {
        check_request(&target->poll);
        check_rules(target->poll.rules, target->poll.rule_count);
    }
    check_query(target, &target->reset);
    check_query(target, &target->quiet);
    check_query(target, &target->stock_left);
    check_query(target, &target->orders);
}

static int write_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("target", MFD_CLOEXEC);

    FUZZ_HOLDS(fd >= 0);
    FUZZ_HOLDS(size == 0 || write(fd, data, size) == (ssize_t)size);
    return fd;
}

/* `error` has what was said, or stays empty. */
static void read_target(const char *path, const char *secret, struct error *error)
{
    struct target target;

    setenv("FUZZ_SECRET", secret, 1);
    if (target_read(path, &target, error)) {
        FUZZ_HOLDS(error->code == ERROR_NONE);
        check_target(&target);
    } else {
        FUZZ_HOLDS(error->code == ERROR_INVALID && strncmp(error->text, path, strlen(path)) == 0);
        FUZZ_HOLDS(!target.path && !target.purchase.rules && !target.steps);
    }
    target_fini(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {.code = ERROR_NONE, .text = ""}, other = error;
    char path[64];
    int fd = write_file(data, size);

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_target(path, "pa55w0rd{user}\n", &error);
    read_target(path, "qb66x1se{user}\n", &other);
    FUZZ_HOLDS(error.code == other.code && strcmp(error.text, other.text) == 0);
    close(fd);
    return 0;
}
