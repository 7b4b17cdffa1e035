/* See meanwhile.h. */
#include "loadtest/phase/meanwhile.h"

#include <string.h>

void meanwhile_begin(const struct fleet *fleet, struct meanwhile_mark *mark)
{
    struct error ignored; /* a database that is gone shows in everything else */
    *mark = (struct meanwhile_mark){.oldest_held = ""};
    (void)witness_oldest_held(fleet->witness, mark->oldest_held, &ignored);
}

void meanwhile_end(const struct fleet *fleet, const struct meanwhile_mark *mark,
                   struct meanwhile *out)
{
    char oldest[WITNESS_NUMBER_SIZE] = "";
    struct error ignored;
    (void)witness_oldest_held(fleet->witness, oldest, &ignored);
    out->old_snapshot = *oldest && strcmp(oldest, mark->oldest_held) == 0;
}
