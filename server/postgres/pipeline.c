/*
 * Many transactions of one statement each, sent without waiting for the one before.
 *
 * Without it PostgreSQL waits after each of them until this process has read the answer and sent
 * the next statement: one round trip and two wake-ups in which nobody has the hot row.
 *
 * Happy path: up to PG_AHEAD statements are under way, each with a sync of its own. When half of
 * them have been answered others follow.
 *
 * Failure modes:
 * - A statement fails: its sync keeps the transactions apart, the next one runs all the same.
 * - It has waited for a lock in vain: those under way may do so, too, each in turn. No other is
 * sent.
 * - No answer in time, or the connection breaks: the session is closed, and what was under way is
 *   unknown.
 * - The statement is not prepared, or a pooler is in between: one after the other. (Whether a
 * PREPARE has failed is known only with its result.)
 *
 * Source: PostgreSQL documentation, libpq, "Pipeline Mode".
 */
#include "postgres/pg_internal.h"

#include "base/clock.h"

enum { PG_AHEAD = 32 };

struct run {
    const struct pg_command *commands;
    int count;
    struct pg_each *out;
    int sent;
    int done;
    bool ends; /* nothing more is sent */
    int64_t begin_until_us;
    int64_t until_us;
};

/* False: libpq or the connection refuses. */
static bool send_more(struct pg *pg, struct run *run)
{
    int before = run->sent;

    while (!run->ends && run->sent < run->count && run->sent - run->done < PG_AHEAD) {
        pg->buffer.used = 0;
        if (!pg_send_command(pg, &run->commands[run->sent]) || !PQpipelineSync(pg->conn))
            return false;
        run->sent++;
        pg_cost_sync();
    }
    if (run->sent > before)
        pg_cost_round_trip();
    return pg_flush(pg, run->until_us);
}

static void note(struct run *run, enum pg_status status, int64_t affected)
{
    run->out[run->done++] = (struct pg_each){.status = status, .affected = affected};
    run->ends |= status == PG_BUSY || clock_mono_us() >= run->begin_until_us;
}

static enum pg_status read_one(struct pg *pg, struct run *run)
{
    pg_forget_result(pg);
    enum pg_status status = pg_read_bundle(pg, &run->commands[run->done], 1, 0, run->until_us);

    note(run, status, status == PG_OK ? pg_affected(pg) : 0);
    return status;
}

/* The session is closed, so nobody knows what became of what was sent and not answered. */
static int give_up(struct run *run, enum pg_status status)
{
    while (run->done < run->sent)
        note(run, status, 0);
    return run->done;
}

static bool goes_alone(const struct pg *pg, const struct run *run)
{
    return pg->conn && (pg->pooled || !pg->prepared[run->commands[run->done].statement]);
}

int pg_exec_each(struct pg *pg, const struct pg_command *commands, int count, struct pg_each *out,
                 int64_t begin_until_us, int64_t until_us)
{
    struct run run = {.commands = commands,
                      .count = count,
                      .out = out,
                      .begin_until_us = begin_until_us,
                      .until_us = until_us};

    while (!run.ends && run.done < count && goes_alone(pg, &run)) {
        const struct pg_command *one = &commands[run.done];
        enum pg_status status = pg_exec(pg, one->statement, one->values, one->count, until_us);
        note(&run, status, status == PG_OK ? pg_affected(pg) : 0);
        run.sent = run.done;
    }
    if (run.ends || run.done == count || !pg->conn)
        return run.done;
    if (!pg_limit_send(pg) || !send_more(pg, &run))
        return give_up(&run, pg_give_up(pg, until_us));
    enum pg_status told = pg_limit_read(pg, until_us);
    if (told != PG_OK)
        return give_up(&run, pg->conn ? pg_limit_untold(pg) : told);
    enum pg_status status = PG_OK;
    while (pg->conn && run.done < run.sent) {
        status = read_one(pg, &run);
        if (pg->conn && run.sent - run.done <= PG_AHEAD / 2 && !send_more(pg, &run))
            status = pg_give_up(pg, until_us);
    }
    return give_up(&run, status == PG_TIMEOUT ? PG_TIMEOUT : PG_LOST);
}
