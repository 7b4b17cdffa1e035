/*
 * A primary that was replaced and does not know it: it can be read from, and where no commit waits
 * for a standby it sells, orders that are lost with it. Of several hosts that take writes the one
 * with the highest timeline was promoted last (PostgreSQL's manual, "Timelines").
 *
 * Every two seconds one of the other hosts is asked, in turn, and for a moment only: one that is
 * silent must not keep the probe from its commits.
 */
#include "postgres/pg_internal.h"

#include "base/clock.h"

#include <string.h>

enum { LOOK_EVERY_US = 2000000, LOOK_US = 200000, NUMBER_SIZE = 24 };

struct place {
    char cluster[NUMBER_SIZE]; /* which it is a copy of */
    int64_t timeline;          /* 0: it takes no writes */
};

static bool find_place(struct pg *pg, struct place *out, int64_t until_us)
{
    if (pg_exec(pg, SQL_TIMELINE, PG_NO_ARGS, until_us) != PG_OK)
        return false;
    pg_get_text(pg, 0, 0, out->cluster, sizeof out->cluster);
    out->timeline = pg_get_int8(pg, 0, 1);
    return true;
}

/* Timeline 0: it takes no writes, is silent, or it is not its turn. */
static struct place find_other(struct store *store, const struct pg *pg, int64_t until_us)
{
    struct host_address other;
    struct place there = {.timeline = 0};

    if (hosts_other(store->hosts, &pg->address, store->elsewhere_turn, until_us, &other) &&
        pg_open_at(store->elsewhere, &other, until_us))
        find_place(store->elsewhere, &there, until_us);
    pg_close(store->elsewhere);
    return there;
}

const char *store_look_elsewhere(struct store *store, struct pg *pg, int64_t until_us)
{
    int64_t now_us = clock_mono_us();
    struct place here;

    if (now_us < store->elsewhere_at_us)
        return "";
    struct place there = find_other(store, pg, now_us + LOOK_US);
    if (there.timeline > 0 && find_place(pg, &here, until_us) && there.timeline > here.timeline &&
        strcmp(here.cluster, there.cluster) == 0) /* and is asked again at once */
        return "it was replaced: another host of --database was promoted since, and takes writes";
    store->elsewhere_turn++;
    store->elsewhere_at_us = now_us + LOOK_EVERY_US;
    return "";
}
