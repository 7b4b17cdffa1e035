/*
 * Pipelined transactions: the first statement of the next transaction is sent behind the COMMIT of
 * the present one.
 *
 * Without it, PostgreSQL waits after a COMMIT until this process has read the reply and sent the
 * next statement: one round trip and two wake-ups in which nobody has the hot row.
 *
 * Happy path: pg_pipeline queues statements; pg_pipeline_send sends them behind the next COMMIT,
 * each with a sync of its own; pg_exec of the same statement with the same values takes the result.
 *
 * Failure modes:
 * - A statement fails: its sync keeps the transactions apart, the next one runs all the same.
 * - pg_exec is asked for anything else: pg_pipeline_drain waits for what was sent and drops it.
 * - A statement is not prepared yet: it stays queued, and pg_exec sends it. (Whether a PREPARE
 *   failed is known only with its result.)
 *
 * Source: PostgreSQL documentation, libpq, "Pipeline Mode".
 */
#include "postgres/pg_internal.h"

#include <string.h>

static bool last_begins(const struct pg_pipeline *pipeline)
{
    return pipeline->count > 0 && pipeline->items[pipeline->count - 1].begins;
}

void pg_pipeline(struct pg *pg, const struct pg_command *command, bool begins)
{
    struct pg_pipeline *pipeline = &pg->pipeline;

    if (!pg->conn || pg->pooled || pipeline->count == PG_PIPELINE_MAX ||
        command->count > PG_PIPELINE_VALUES || last_begins(pipeline))
        return;
    struct pg_pipeline_item *item = &pipeline->items[pipeline->count++];
    item->statement = command->statement;
    item->begins = begins;
    item->count = command->count;
    memcpy(item->values, command->values, (size_t)command->count * sizeof *command->values);
}

bool pg_pipeline_in_flight(const struct pg *pg)
{
    return pg->pipeline.sent > 0;
}

static bool may_travel(const struct pg *pg, const struct pg_pipeline_item *item)
{
    return pg->prepared[item->statement] && (!item->begins || pg->prepared[SQL_BEGIN]);
}

bool pg_pipeline_send(struct pg *pg)
{
    struct pg_pipeline *pipeline = &pg->pipeline;

    if (pg_plans_outgrown(pg))
        return true; /* pg_connect renews them when nothing is under way */
    for (; pipeline->sent < pipeline->count; pipeline->sent++) {
        const struct pg_pipeline_item *item = &pipeline->items[pipeline->sent];
        struct pg_command command = {item->statement, item->values, item->count};

        if (!may_travel(pg, item))
            return true;
        pg->buffer.used = 0;
        if (item->begins && !pg_send_command(pg, &(struct pg_command){.statement = SQL_BEGIN}))
            return false;
        if (!pg_send_command(pg, &command) || !PQpipelineSync(pg->conn))
            return false;
        pg_cost_sync();
    }
    return true;
}

/* Arrays are not looked into: they are never the same. */
static bool is_same(const struct pg_value *a, const struct pg_value *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case PG_NULL:
        return true;
    case PG_INT8:
    case PG_TIME:
        return a->as.number == b->as.number;
    case PG_TEXT:
        return strcmp(a->as.text, b->as.text) == 0;
    case PG_UUID:
        return memcmp(a->as.uuids, b->as.uuids, sizeof *a->as.uuids) == 0;
    default:
        return false;
    }
}

static bool is_of(const struct pg_pipeline_item *item, const struct pg_command *command)
{
    bool same = item->statement == command->statement && item->count == command->count;

    for (int i = 0; same && i < item->count; i++)
        same = is_same(&item->values[i], &command->values[i]);
    return same;
}

struct pg_pipeline_item pg_pipeline_pop(struct pg *pg)
{
    struct pg_pipeline *pipeline = &pg->pipeline;
    struct pg_pipeline_item item = pipeline->items[0];

    pipeline->count--;
    pipeline->sent -= pipeline->sent > 0;
    memmove(pipeline->items, pipeline->items + 1,
            (size_t)pipeline->count * sizeof *pipeline->items);
    return item;
}

bool pg_pipeline_take(struct pg *pg, const struct pg_command *command, bool *sent)
{
    const struct pg_pipeline_item *first = &pg->pipeline.items[0];
    bool begins = pg->begin_pending && pg->begin == SQL_BEGIN;

    if (pg->pipeline.count == 0 || pg_in_transaction(pg) != begins || first->begins != begins ||
        !is_of(first, command))
        return false;
    *sent = pg->pipeline.sent > 0;
    pg_pipeline_pop(pg);
    return true;
}
