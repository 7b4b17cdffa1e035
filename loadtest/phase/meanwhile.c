/* See meanwhile.h. */
#include "loadtest/phase/meanwhile.h"

#include "loadtest/judge/redis_link.h"

#include <string.h>

#define EVICTED "evicted_keys"

void meanwhile_begin(const struct fleet *fleet, struct meanwhile_mark *mark)
{
    struct error ignored; /* a database that is gone shows in everything else */
    *mark = (struct meanwhile_mark){.oldest_held = ""};
    (void)witness_oldest_held(fleet->witness, mark->oldest_held, &ignored);
    for (size_t i = 0; i < FLEET_REDIS_MAX && *fleet->redis[i]; i++)
        mark->evicted_keys[i] = redis_link_number(fleet->redis[i], EVICTED);
}

/* One that was started again counts from 0. One that is out of reach is not waited for twice. */
static int64_t evicted_since(const char *redis, int64_t before)
{
    int64_t now = before < 0 ? -1 : redis_link_number(redis, EVICTED);
    if (now < 0)
        return 0;
    return now < before ? now : now - before;
}

void meanwhile_end(const struct fleet *fleet, const struct meanwhile_mark *mark,
                   struct meanwhile *out)
{
    char oldest[WITNESS_NUMBER_SIZE] = "";
    struct error ignored;
    (void)witness_oldest_held(fleet->witness, oldest, &ignored);
    out->old_snapshot = *oldest && strcmp(oldest, mark->oldest_held) == 0;
    for (size_t i = 0; i < FLEET_REDIS_MAX && *fleet->redis[i]; i++)
        out->evicted_keys += evicted_since(fleet->redis[i], mark->evicted_keys[i]);
}
