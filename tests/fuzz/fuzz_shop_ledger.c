/*
 * A shop's ledgers: one that is read has numbers of which no sum leaves 64 bits, can be judged, and
 * is read again the same when it is written; of one that is refused nothing is left, and the error
 * says why.
 */
#include "fuzz/fuzz.h"

#include "loadtest/shop/claims/claims.h"
#include "loadtest/shop/load/shop_ledger_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void write_all(const struct shop_record *record, const char *path)
{
    struct error error = {.code = ERROR_NONE};
    const struct target target = {.name = record->shop,
                                  .product = record->product,
                                  .stock = record->stock,
                                  .limit = record->limit};
    struct json_lines *to = shop_ledger_create(path, &target, &record->load, &error);

    FUZZ_HOLDS(to);
    for (size_t i = 0; i < record->history.count; i++)
        shop_ledger_begin(to, i, &record->history.items[i]);
    for (size_t i = 0; i < record->history.count; i++)
        shop_ledger_end(to, i, &record->history.items[i]);
    shop_ledger_sent(to, &record->sent);
    shop_ledger_books(to, &record->books);
    FUZZ_HOLDS(json_lines_close(to, &error));
}

static bool is_same_text(const char *a, const char *b)
{
    return !a == !b && (!a || strcmp(a, b) == 0);
}

static bool is_same_purchase(const struct shop_purchase *a, const struct shop_purchase *b)
{
    return is_same_text(a->user, b->user) && is_same_text(a->key, b->key) &&
           is_same_text(a->order, b->order) && a->repeat == b->repeat && a->asked == b->asked &&
           a->due_us == b->due_us && a->start_us == b->start_us && a->end_us == b->end_us &&
           a->status == b->status && a->first == b->first && a->last == b->last;
}

static void check_same(const struct shop_record *a, const struct shop_record *b)
{
    FUZZ_HOLDS(is_same_text(a->shop, b->shop) && a->product == b->product);
    FUZZ_HOLDS(a->stock == b->stock && a->limit == b->limit);
    FUZZ_HOLDS(memcmp(&a->load, &b->load, sizeof a->load) == 0);
    FUZZ_HOLDS(a->sent.began_us == b->sent.began_us && a->sent.ended_us == b->sent.ended_us);
    FUZZ_HOLDS(a->sent.late_us == b->sent.late_us);
    FUZZ_HOLDS(a->sent.failures == b->sent.failures && a->sent.answered == b->sent.answered);
    FUZZ_HOLDS(is_same_text(a->sent.first_failure, b->sent.first_failure));
    FUZZ_HOLDS(a->history.count == b->history.count && a->books.count == b->books.count);
    for (size_t i = 0; i < a->history.count; i++)
        FUZZ_HOLDS(is_same_purchase(&a->history.items[i], &b->history.items[i]));
    FUZZ_HOLDS(a->books.has_left == b->books.has_left && a->books.left == b->books.left);
    FUZZ_HOLDS(a->books.has_rows == b->books.has_rows);
    for (size_t i = 0; i < a->books.count; i++) {
        const struct shop_row *left = &a->books.rows[i], *right = &b->books.rows[i];
        FUZZ_HOLDS(is_same_text(left->id, right->id) && is_same_text(left->user, right->user));
        FUZZ_HOLDS(left->units == right->units);
    }
}

static void check_bounds(const struct shop_record *record)
{
    FUZZ_HOLDS(record->shop && record->sent.began_us <= record->sent.ended_us);
    FUZZ_HOLDS(record->books.left >= -SHOP_LEFT_MAX && record->books.left <= SHOP_LEFT_MAX);
    FUZZ_HOLDS(record->books.has_rows || record->books.count == 0);
    for (size_t i = 0; i < record->history.count; i++) {
        const struct shop_purchase *one = &record->history.items[i];
        FUZZ_HOLDS(one->user && one->due_us >= 0 && one->status >= 0 && one->status <= 999);
        FUZZ_HOLDS(one->asked ? one->start_us >= one->due_us && one->end_us >= one->start_us &&
                                    one->end_us > 0
                              : (one->end_us == 0) == (one->first == SHOP_UNKNOWN) && !one->order);
        FUZZ_HOLDS(one->first == one->last || one->first == SHOP_ACCEPTED);
    }
    for (size_t i = 0; i < record->books.count; i++)
        FUZZ_HOLDS(record->books.rows[i].units >= 0 &&
                   record->books.rows[i].units <= SHOP_UNITS_MAX);
}

/* A target's stock is a billion at most. */
static void check_judged(const struct shop_record *record)
{
    struct error error = {.code = ERROR_NONE};
    struct shop_judgement judgement;
    struct target target = {.stock = record->stock < SHOP_UNITS_MAX ? record->stock : 1,
                            .limit = record->limit};

    for (size_t i = 0; i < SHOP_CLAIMS; i++)
        target.claims[i] = true;
    FUZZ_HOLDS(claims_judge(&target, &record->history, &record->books, &judgement, &error));
}

/* Through a file without a name. */
static void check_read(const struct shop_record *record)
{
    struct error error = {.code = ERROR_NONE};
    struct shop_record again;
    char path[64];
    int fd = memfd_create("shop_ledger", MFD_CLOEXEC);

    FUZZ_HOLDS(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    write_all(record, path);
    FUZZ_HOLDS(shop_ledger_read_file(&again, path, &error));
    check_same(record, &again);
    shop_record_fini(&again);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {.code = ERROR_NONE};
    struct shop_record record;
    char *text = fuzz_copy(data, size);
    FILE *from = fmemopen(text, size > 0 ? size : 1, "r");

    FUZZ_HOLDS(from);
    if (shop_ledger_read(&record, from, &error)) {
        FUZZ_HOLDS(error.code == ERROR_NONE);
        check_bounds(&record);
        check_judged(&record);
        check_read(&record);
    } else {
        FUZZ_HOLDS(error.code != ERROR_NONE && *error.text);
        FUZZ_HOLDS(!record.shop && !record.history.items && !record.books.rows);
    }
    shop_record_fini(&record);
    fclose(from);
    free(text);
    return 0;
}
