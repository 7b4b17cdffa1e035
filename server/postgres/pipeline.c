/*
 * Statements ahead of their turn.
 *
 * Between the end of one transaction and the first statement of the next the server would wait for
 * us to hear of the end and to ask: two wake-ups and the way there and back, in which a hot row is
 * nobody's. So what comes next can be sent behind the end, each with a sync of its own, which keeps
 * the transactions apart: an error in one skips nothing of the other.
 *
 * Only what is prepared is sent, because whether a PREPARE fails is known with its result. The
 * values are kept, so that pg_exec can tell whether it is asked for just this.
 *
 * Source: PostgreSQL documentation, libpq, "Pipeline Mode".
 */
#include "postgres/pg_internal.h"

#include "base/clock.h"

#include <string.h>

static bool last_begins(const struct pg_ahead *ahead)
{
    return ahead->count > 0 && ahead->items[ahead->count - 1].begins;
}

void pg_ahead(struct pg *pg, const struct pg_command *command, bool begins)
{
    struct pg_ahead *ahead = &pg->ahead;

    if (!pg->conn || ahead->count == PG_AHEAD_MAX || command->count > PG_AHEAD_VALUES ||
        last_begins(ahead))
        return;
    struct pg_ahead_item *item = &ahead->items[ahead->count++];
    item->statement = command->statement;
    item->begins = begins;
    item->count = command->count;
    memcpy(item->values, command->values, (size_t)command->count * sizeof *command->values);
}

bool pg_is_ahead(const struct pg *pg)
{
    return pg->ahead.sent > 0;
}

static struct pg_command command_of(const struct pg_ahead_item *item)
{
    return (struct pg_command){item->statement, item->values, item->count};
}

static bool may_travel(const struct pg *pg, const struct pg_ahead_item *item)
{
    return pg->prepared[item->statement] && (!item->begins || pg->prepared[SQL_BEGIN]);
}

bool pg_ahead_send(struct pg *pg)
{
    struct pg_ahead *ahead = &pg->ahead;

    for (; ahead->sent < ahead->count; ahead->sent++) {
        const struct pg_ahead_item *item = &ahead->items[ahead->sent];
        struct pg_command command = command_of(item);

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

static bool is_of(const struct pg_ahead_item *item, const struct pg_command *command)
{
    bool same = item->statement == command->statement && item->count == command->count;

    for (int i = 0; same && i < item->count; i++)
        same = is_same(&item->values[i], &command->values[i]);
    return same;
}

/* False: it was not sent. */
static bool pop(struct pg_ahead *ahead)
{
    bool sent = ahead->sent > 0;

    ahead->count--;
    ahead->sent -= sent;
    memmove(ahead->items, ahead->items + 1, (size_t)ahead->count * sizeof *ahead->items);
    return sent;
}

bool pg_ahead_take(struct pg *pg, const struct pg_command *command, bool *sent)
{
    const struct pg_ahead_item *first = &pg->ahead.items[0];
    bool begins = pg->begin_pending && pg->begin == SQL_BEGIN;

    if (pg->ahead.count == 0 || pg_in_transaction(pg) != begins || first->begins != begins ||
        !is_of(first, command))
        return false;
    *sent = pop(&pg->ahead);
    return true;
}

void pg_ahead_drop(struct pg *pg, int64_t until_us)
{
    bool begin_pending = pg->begin_pending;
    bool begun = false;

    while (pg->ahead.sent > 0) {
        struct pg_ahead_item item = pg->ahead.items[0];
        const struct pg_command commands[] = {{.statement = SQL_BEGIN}, command_of(&item)};
        int skipped = item.begins ? 0 : 1;

        pop(&pg->ahead);
        begun = item.begins;
        pg->in_transaction |= begun;
        pg_forget_result(pg);
        pg_read_bundle(pg, commands + skipped, 2 - skipped, 1 - skipped, until_us);
    }
    pg->ahead.count = 0;
    if (begun)
        pg_rollback(pg, until_us);
    pg->begin_pending = begin_pending && pg->conn;
}
