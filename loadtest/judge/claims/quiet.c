/* What must agree, and what should not be there, when all is quiet. */
#include "loadtest/judge/claims/claims.h"

#include "base/random/uuid.h"

#include <inttypes.h>
#include <stdlib.h>

/* redis-stock sells from a copy: units that it has more than the database would be sold to nobody's
 * gain, and units that it has not are sold to nobody. */
static void check_mirror(const struct view *view, const struct row_mirror *mirror)
{
    const struct row_product *row = rows_find_product(view->rows, mirror->product);
    if (mirror->reserved > 0)
        findings_add(view->findings, FINDING_RESIDUE, mirror->product, mirror->reserved,
                     "%" PRId64 " units are reserved in Redis, and nobody decides them",
                     mirror->reserved);
    else if (row && mirror->stock != row->stock)
        findings_add(view->findings, FINDING_CACHE, mirror->product,
                     llabs(mirror->stock - row->stock),
                     "%" PRId64 " units are left in Redis, and %" PRId64 " in the database",
                     mirror->stock, row->stock);
}

/* A product is sold in one cell, and an order in the one that its id names: two hexadecimal digits.
 * That a key has one order in all of them check_keys sees. */
static void check_cells(const struct view *view)
{
    const struct rows *rows = view->rows;
    for (size_t i = 0; i < rows->strays_count; i++) {
        const struct row_product *stray = &rows->strays[i];
        if (stray->initial == 0 && stray->stock == 0) /* it has moved away */
            continue;
        findings_add(view->findings, FINDING_CELL, stray->id, 0, "it is in cell %d, and in cell %d",
                     rows_find_product(rows, stray->id)->cell, stray->cell);
    }
    for (size_t i = 0; i < rows->orders_count; i++) {
        const struct row_order *row = &rows->orders[i];
        char digits[3] = "";
        if (row->cell == 0)
            break;
        snprintf(digits, sizeof digits, "%s", row->id + UUID_CELL_AT);
        int named = (int)strtol(digits, NULL, 16);
        if (named != row->cell)
            findings_add(view->findings, FINDING_CELL, row->product, 0,
                         "order %s is in cell %d, and its id names cell %d", row->id, row->cell,
                         named);
    }
}

void check_quiet(struct view *view)
{
    const struct rows *rows = view->rows;
    const struct {
        int64_t count;
        const char *what;
    } kinds[] = {
        {rows->idle_transactions, "sessions stand idle in a transaction, for 5 s and more"},
        {rows->prepared, "prepared transactions wait for somebody to end them"},
        {rows->waiting, "sessions have waited for a lock for 5 s and more"},
        {rows->leaseless, "locks in Redis have no lease: they never end"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].count > 0)
            findings_add(view->findings, FINDING_RESIDUE, 0, 0, "%" PRId64 " %s", kinds[i].count,
                         kinds[i].what);
    }
    for (size_t i = 0; i < rows->orders_count; i++) {
        const struct row_order *row = &rows->orders[i];
        if (row->told != LEDGER_STATE_NONE)
            findings_add(view->findings, FINDING_FEED, row->product, 0,
                         "order %s is %s, and %s by the feed", row->id,
                         ledger_state_name(row->state), ledger_state_name(row->told));
    }
    for (size_t i = 0; i < rows->mirrors_count; i++)
        check_mirror(view, &rows->mirrors[i]);
    check_cells(view);
}
