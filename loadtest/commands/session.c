/* See session.h. */
#include "loadtest/commands/session.h"

#include "loadtest/report/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The line that says what is going on, rewritten in place; for a terminal alone. */
static void progress(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "\r\033[K%s", text);
    fflush(stderr);
}

void session_phase_over(const struct session *session, const struct phase_result *result,
                        size_t number, size_t all)
{
    const struct phase_plan *plan = &result->plan;
    if (session->fleet.progress)
        return;
    fprintf(stderr,
            "seckill-loadtest: %zu of %zu: %s, %d instance%s, round %d, %s: %.0f committed/s, "
            "%" PRId64 " sold, %s\n",
            number, all, plan->strategy->name, result->instances, result->instances == 1 ? "" : "s",
            plan->round, phase_name(plan->kind), phase_committed_per_s(result), result->audit.sold,
            verdict_name(result->verdict));
}

bool session_init(struct session *session, const struct options *options, struct error *error)
{
    *session = (struct session){.options = options};
    char wrk[sizeof session->machine.wrk] = "";
    if (options_use_wrk(options) && !wrk_version(wrk, sizeof wrk, error))
        return false;
    session->api = api_create(options->admin_token);
    if (!session->api)
        return error_fail(error, "curl does not start");
    if (options->servers.count == 0 &&
        !instance_find_binary(options, session->binary, sizeof session->binary, error))
        return false;
    session->witness = witness_create(options->database, error);
    if (!session->witness || !machine_look(&session->machine, session->witness, error) ||
        !files_make_folder(options->out, session->folder, sizeof session->folder,
                           &session->made_folder, error))
        return false;
    memcpy(session->machine.wrk, wrk, sizeof wrk);
    if (*session->binary)
        machine_ask_server(&session->machine, session->binary);
    session->fleet = (struct fleet){
        .api = session->api, .witness = session->witness, .admin_token = options->admin_token};
    if (isatty(STDOUT_FILENO) && isatty(STDERR_FILENO))
        session->fleet.progress = progress;
    return true;
}

void session_fini(struct session *session)
{
    struct error ignored;
    (void)session_close_fleet(session, &ignored);
    api_destroy(session->api);
    witness_destroy(session->witness);
    wrk_fini();
    if (session->made_folder)
        rmdir(session->folder); /* it goes only when nothing was written */
}

bool session_open_fleet(struct session *session, int count, struct error *error)
{
    const struct options *options = session->options;
    struct fleet *fleet = &session->fleet;
    bool ours = options->servers.count == 0;
    if (ours && !instance_start_all(session->instances, (size_t)count, options, session->binary,
                                    session->folder, error))
        return false;
    fleet->instances = ours ? session->instances : NULL;
    fleet->count = (size_t)count;
    for (size_t i = 0; i < fleet->count; i++)
        fleet->urls[i] = ours ? session->instances[i].url : options->servers.items[i];
    for (size_t i = 0; i < fleet->count; i++) {
        if (!api_ready(session->api, fleet->urls[i], &session->machine.durable, error))
            return false;
    }
    int found = api_strategies(session->api, fleet->urls[0], session->strategies,
                               SESSION_STRATEGIES_MAX, error);
    session->strategies_count = found > 0 ? (size_t)found : 0;
    return found > 0;
}

bool session_close_fleet(struct session *session, struct error *error)
{
    struct fleet *fleet = &session->fleet;
    size_t count = fleet->instances ? fleet->count : 0;
    fleet->count = 0;
    fleet->instances = NULL;
    return instance_stop_all(session->instances, count, error);
}

const struct api_strategy *session_strategy(const struct session *session, const char *name)
{
    for (size_t i = 0; i < session->strategies_count; i++) {
        if (strcmp(session->strategies[i].name, name) == 0)
            return &session->strategies[i];
    }
    return NULL;
}
