/* See people.h. */
#include "loadtest/shop/claims/people.h"

#include <stdlib.h>
#include <string.h>

static int compare_people(const void *a, const void *b)
{
    return strcmp(((const struct shop_person *)a)->user, ((const struct shop_person *)b)->user);
}

static int compare_ids(const void *a, const void *b)
{
    const struct shop_row *const *one = a, *const *other = b;
    return strcmp((*one)->id, (*other)->id);
}

/* Everybody once. */
static void name_everybody(struct shop_people *out, const struct shop_history *history,
                           const struct shop_books *books)
{
    size_t named = 0, kept = 0;
    for (size_t i = 0; i < history->count; i++)
        out->items[named++].user = history->items[i].user;
    for (size_t i = 0; i < books->count; i++) {
        if (books->rows[i].user)
            out->items[named++].user = books->rows[i].user;
    }
    qsort(out->items, named, sizeof *out->items, compare_people);
    for (size_t i = 0; i < named; i++) {
        if (i == 0 || compare_people(&out->items[kept - 1], &out->items[i]) != 0)
            out->items[kept++].user = out->items[i].user;
    }
    out->count = kept;
}

static void count_purchase(struct shop_person *person, const struct shop_purchase *purchase)
{
    bool is_no = purchase->last == SHOP_SOLD_OUT || purchase->last == SHOP_REFUSED;
    person->heard += purchase->asked || is_no;
    person->noes += is_no;
    person->asked += purchase->asked;
    person->keys += purchase->asked && !purchase->repeat;
    person->sold += purchase->last == SHOP_SOLD;
}

static int compare_ends(const void *a, const void *b)
{
    const struct shop_purchase *const *one = a, *const *other = b;
    return ((*one)->end_us > (*other)->end_us) - ((*one)->end_us < (*other)->end_us);
}

/* A repeat of a key that was sold is told so again: that is no second one. */
static bool fill_up(struct shop_people *out, const struct shop_history *history, int64_t limit)
{
    const struct shop_purchase **sold = calloc(history->count + 1, sizeof *sold);
    size_t count = 0;
    for (size_t i = 0; sold && i < history->count; i++) {
        const struct shop_purchase *one = &history->items[i];
        if (one->last == SHOP_SOLD && !(one->repeat && one->key))
            sold[count++] = one;
    }
    if (sold)
        qsort(sold, count, sizeof(struct shop_purchase *), compare_ends);
    for (size_t i = 0; i < count; i++) {
        struct shop_person *person = people_find(out, sold[i]->user);
        if (++person->bought == limit)
            person->full_us = sold[i]->end_us;
    }
    free(sold);
    return sold != NULL;
}

static void count_row(struct shop_person *person, const struct shop_row *row)
{
    person->rows++;
    person->units += row->units;
    if (!person->row)
        person->row = row;
    else if (!person->second)
        person->second = row;
}

bool people_make(struct shop_people *out, const struct shop_history *history,
                 const struct shop_books *books, int64_t limit)
{
    *out =
        (struct shop_people){.rows_have_ids = books->has_rows, .rows_have_users = books->has_rows};
    out->items = calloc(history->count + books->count + 1, sizeof *out->items);
    out->by_id = calloc(books->count + 1, sizeof *out->by_id);
    if (!out->items || !out->by_id) {
        people_fini(out);
        return false;
    }
    name_everybody(out, history, books);
    for (size_t i = 0; i < history->count; i++)
        count_purchase(people_find(out, history->items[i].user), &history->items[i]);
    for (size_t i = 0; i < books->count; i++) {
        const struct shop_row *row = &books->rows[i];
        out->units += row->units;
        out->rows_have_ids = out->rows_have_ids && row->id;
        out->rows_have_users = out->rows_have_users && row->user;
        if (row->id)
            out->by_id[out->ids++] = row;
        if (row->user)
            count_row(people_find(out, row->user), row);
    }
    qsort(out->by_id, out->ids, sizeof(struct shop_row *), compare_ids);
    if (fill_up(out, history, limit))
        return true;
    people_fini(out);
    return false;
}

void people_fini(struct shop_people *people)
{
    free(people->items);
    free(people->by_id);
    *people = (struct shop_people){0};
}

struct shop_person *people_find(const struct shop_people *people, const char *user)
{
    const struct shop_person wanted = {.user = user};
    return bsearch(&wanted, people->items, people->count, sizeof *people->items, compare_people);
}

const struct shop_row *people_order(const struct shop_people *people, const char *id)
{
    union {
        const char *from;
        char *to;
    } name = {.from = id};
    const struct shop_row wanted = {.id = name.to}, *key = &wanted;
    const struct shop_row **found =
        bsearch(&key, people->by_id, people->ids, sizeof *people->by_id, compare_ids);
    return found ? *found : NULL;
}
