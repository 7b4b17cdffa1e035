/* See bed.h. */
#include "lib/t.h"

#include "harness/bed/bed.h"

#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *bed_database(void)
{
    const char *database = getenv("SECKILL_TEST_DATABASE");
    assert_non_null(database);
    return database;
}

struct bed *bed_create(size_t count)
{
    struct error error = {.text = ""};
    struct bed *bed = calloc(1, sizeof *bed);
    assert_non_null(bed);
    process_catch_signals();
    snprintf(bed->folder, sizeof bed->folder, "/tmp/seckill-harness.XXXXXX");
    assert_non_null(mkdtemp(bed->folder));
    const char *redis = getenv("SECKILL_TEST_REDIS");
    bed->options = (struct options){.database = bed_database(),
                                    .schema = "seckill",
                                    .redis = redis ? redis : "",
                                    .stock_redis = "",
                                    .amqp = "",
                                    .redlock = "",
                                    .memcached = "",
                                    .zookeeper = "",
                                    .admin_token = "",
                                    .work_ms = -1};
    bed->count = count;
    if (count > 0 &&
        !instance_start_all(bed->servers, count, &bed->options, SERVER, bed->folder, &error))
        fail_msg("%s", error.text);
    return bed;
}

void bed_open_fleet(struct bed *bed, struct fleet *fleet)
{
    struct error error = {.text = ""};
    *fleet = (struct fleet){.count = bed->count,
                            .instances = bed->servers,
                            .api = api_create(""),
                            .witness = witness_create(bed_database(), "seckill", &error),
                            .admin_token = ""};
    assert_non_null(fleet->api);
    assert_non_null(fleet->witness);
    for (size_t i = 0; i < bed->count; i++)
        fleet->urls[i] = bed->servers[i].url;
}

void bed_close_fleet(struct fleet *fleet)
{
    wrk_fini();
    api_destroy(fleet->api);
    witness_destroy(fleet->witness);
}

void bed_find_strategy(const struct fleet *fleet, const char *name, struct api_strategy *out)
{
    struct error error = {.text = ""};
    struct api_strategy strategies[64];
    int count = api_strategies(fleet->api, fleet->urls[0], strategies, 64, &error);
    for (int i = 0; i < count; i++) {
        *out = strategies[i];
        if (strcmp(out->name, name) == 0)
            return;
    }
    fail_msg("no strategy %s: %s", name, error.text);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void bed_destroy(struct bed *bed)
{
    struct error error = {.text = ""};
    bool stopped = instance_stop_all(bed->servers, bed->count, &error);
    nftw(bed->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(bed);
    if (!stopped)
        fail_msg("%s", error.text);
}

static void start(struct bed *bed, const char *program, const char *arguments,
                  struct process *process)
{
    const char *argv[48] = {program};
    size_t count = 1;
    char words[1024];
    char *rest = NULL;
    snprintf(words, sizeof words, "%s", arguments);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    bool is_zoo = strncmp(arguments, "zoo", 3) == 0;
    bool is_shop = strncmp(arguments, "shop", 4) == 0;
    bool looks = strncmp(arguments, "audit", 5) == 0 || strncmp(arguments, "check", 5) == 0;
    if (!is_shop) {
        argv[count++] = "--database";
        argv[count++] = bed->options.database;
    }
    if (!is_zoo && !is_shop) {
        argv[count++] = "--schema";
        argv[count++] = bed->options.schema;
    }
    if (!looks && !is_shop) {
        argv[count++] = "--redis";
        argv[count++] = bed->options.redis;
    }
    if (!looks && !is_zoo) {
        argv[count++] = "--out";
        argv[count++] = bed->folder;
    }
    struct error error;
    bed->output[0] = '\0';
    assert_true(process_start(process, argv, NULL, NULL, &error));
}

void bed_start(struct bed *bed, const char *arguments, struct process *process)
{
    start(bed, LOADTEST, arguments, process);
}

void bed_read_until(const struct process *process, const char *text)
{
    char said[4096] = "";
    size_t length = 0;
    while (!strstr(said, text)) {
        ssize_t got = read(process->out_fd, said + length, sizeof said - 1 - length);
        if (got <= 0)
            fail_msg("it ended without saying '%s': %s", text, said);
        length += (size_t)got;
        said[length] = '\0';
    }
}

int bed_finish(struct bed *bed, struct process *process)
{
    size_t length = 0;
    for (;;) {
        ssize_t got = read(process->out_fd, bed->output + length, sizeof bed->output - 1 - length);
        if (got <= 0)
            break;
        length += (size_t)got;
        bed->output[length] = '\0';
    }
    int status = 0;
    while (!process_ended(process, &status))
        poll(NULL, 0, 1);
    fputs(bed->output, stderr);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int bed_run(struct bed *bed, const char *arguments)
{
    struct process process;
    bed_start(bed, arguments, &process);
    return bed_finish(bed, &process);
}

int bed_bench(struct bed *bed, const char *arguments)
{
    struct process process;
    start(bed, BENCH, arguments, &process);
    return bed_finish(bed, &process);
}

json_t *bed_results(const struct bed *bed)
{
    char path[128];
    json_error_t error;
    snprintf(path, sizeof path, "%s/results.json", bed->folder);
    return json_load_file(path, 0, &error);
}

static bool is(const json_t *run, const char *name, const char *value)
{
    const char *text = json_string_value(json_object_get(run, name));
    return text && strcmp(text, value) == 0;
}

const char *bed_verdict(const json_t *results, const char *strategy, const char *phase,
                        int instances)
{
    const json_t *runs = json_object_get(results, "runs");
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        if (is(run, "strategy", strategy) && is(run, "phase", phase) &&
            json_integer_value(json_object_get(run, "instances")) == instances)
            return json_string_value(json_object_get(run, "verdict"));
    }
    return "";
}
