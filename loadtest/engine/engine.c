/* See engine.h. */
#include "loadtest/engine/engine.h"

#include "base/clock.h"
#include "loadtest/base/pool.h"
#include "loadtest/base/process.h"

#include <stdlib.h>

enum { DROP_EVERY_US = 500000 };

struct engine {
    const struct engine_plan *plan; /* borrowed */
    struct {
        int64_t give_up_us; /* of this connection; 0: it is free */
        size_t idle;        /* in a ring of the free ones */
        size_t begun;       /* in a list: what was prepared, and is sent after the commit */
    } * slots;              /* owned: by connection */
    size_t idle_at, idle_count, begun_count, busy;
    int64_t dropped_us;
};

static void give_back(struct engine *engine, size_t connection)
{
    size_t count = engine->plan->connections;
    engine->slots[(engine->idle_at + engine->idle_count++) % count].idle = connection;
}

void engine_ended(struct engine *engine, size_t connection, const struct answer *answer)
{
    const struct engine_plan *plan = engine->plan;
    engine->slots[connection].give_up_us = 0;
    engine->busy--;
    plan->behaviour->answered(plan->self, connection, clock_mono_us(), answer);
    give_back(engine, connection);
}

int64_t engine_due_us(const struct engine *engine, bool *exact, bool *crowded)
{
    const struct engine_plan *plan = engine->plan;
    *crowded = false;
    *exact = plan->behaviour->due_us != NULL;
    return *exact ? plan->behaviour->due_us(plan->self, crowded) : INT64_MAX;
}

/* False: it could not be sent, and is free again. */
static bool send_on(struct engine *engine, size_t connection, int64_t now_us)
{
    const struct engine_plan *plan = engine->plan;
    engine->slots[connection].give_up_us =
        now_us + (plan->limit_us ? plan->limit_us : ENGINE_ANSWER_LIMIT_US);
    bool sent = plan->wire->send(plan->wire_self, connection);
    if (!sent)
        engine_ended(engine, connection, &(struct answer){.unsent = true});
    return sent;
}

/* Asks each free connection once, and one whose request could not be sent again. */
static void offer(struct engine *engine)
{
    const struct engine_plan *plan = engine->plan;
    struct http_request request;
    size_t left = engine->idle_count;
    while (left > 0) {
        size_t connection = engine->slots[engine->idle_at].idle;
        int64_t now_us = clock_mono_us();
        enum engine_next next = plan->behaviour->next(plan->self, connection, now_us, &request);
        if (next == ENGINE_RESTS)
            return;
        engine->idle_at = (engine->idle_at + 1) % plan->connections;
        engine->idle_count--;
        if (next == ENGINE_PASSES) {
            give_back(engine, connection);
            left--;
            continue;
        }
        engine->busy++;
        plan->wire->prepare(plan->wire_self, connection, &request);
        if (plan->behaviour->commit)
            engine->slots[engine->begun_count++].begun = connection;
        left -= plan->behaviour->commit || send_on(engine, connection, now_us);
    }
}

static bool send_begun(struct engine *engine, struct error *error)
{
    const struct engine_plan *plan = engine->plan;
    size_t count = engine->begun_count;
    engine->begun_count = 0;
    if (count > 0 && !plan->behaviour->commit(plan->self, error))
        return false;
    for (size_t i = 0; i < count; i++)
        (void)send_on(engine, engine->slots[i].begun, clock_mono_us());
    return true;
}

static void drop_late(struct engine *engine, int64_t now_us)
{
    const struct engine_plan *plan = engine->plan;
    if (now_us - engine->dropped_us < DROP_EVERY_US)
        return;
    engine->dropped_us = now_us;
    for (size_t i = 0; i < plan->connections; i++) {
        int64_t give_up_us = engine->slots[i].give_up_us;
        if (give_up_us == 0 || give_up_us > now_us)
            continue;
        plan->wire->drop(plan->wire_self, i);
        engine_ended(engine, i, &(struct answer){.unsent = false});
    }
}

static bool tick(const struct engine *engine, int64_t now_us, struct error *error)
{
    const struct engine_plan *plan = engine->plan;
    if (process_interrupted())
        return error_fail(error, "interrupted");
    return !plan->behaviour->tick || plan->behaviour->tick(plan->self, now_us, error);
}

static bool open_all(struct engine *engine, struct error *error)
{
    const struct engine_plan *plan = engine->plan;
    for (size_t i = 0; i < plan->connections; i++) {
        if (!plan->wire->open(plan->wire_self, i, error) || !tick(engine, clock_mono_us(), error))
            return false;
        give_back(engine, i);
    }
    return true;
}

static bool drive(struct engine *engine, struct error *error)
{
    const struct engine_plan *plan = engine->plan;
    int64_t now_us = clock_mono_us();
    if (plan->behaviour->begin && !plan->behaviour->begin(plan->self, now_us, error))
        return false;
    while (!plan->behaviour->is_over(plan->self, engine->busy, now_us)) {
        offer(engine);
        if (!send_begun(engine, error) || !plan->wire->turn(plan->wire_self, engine, error))
            return false;
        now_us = clock_mono_us();
        if (!tick(engine, now_us, error))
            return false;
        drop_late(engine, now_us);
    }
    return true;
}

bool engine_run(const struct engine_plan *plan, struct error *error)
{
    struct engine engine = {.plan = plan};
    engine.slots = memory_take(plan->connections * sizeof *engine.slots);
    bool made = open_all(&engine, error) && drive(&engine, error);
    free(engine.slots);
    return made;
}
