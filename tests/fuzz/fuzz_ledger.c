/*
 * Ledgers, of our own servers and of shops: a file that is read has numbers of which no sum leaves
 * 64 bits, a shop's can be judged, and it is read again the same when it is
 * written; of one that is refused nothing is left, and the error says in which line.
 */
#include "fuzz/fuzz.h"

#include "loadtest/judge/claims/claims.h"
#include "loadtest/ledger/ledger_read.h"
#include "loadtest/ledger/ledger_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void write_all(const struct ledger *ledger, const char *path)
{
    struct error error = {.code = ERROR_NONE};
    struct json_lines *writer = ledger_create(path, ledger, "shop.yaml", &error);

    FUZZ_HOLDS(writer);
    for (size_t i = 0; i < ledger->ops_count; i++) {
        ledger_write_begin(writer, &ledger->ops[i]);
        if (ledger->shop || ledger->ops[i].end_us != LEDGER_NEVER)
            ledger_write_end(writer, &ledger->ops[i]);
    }
    if (ledger->shop) {
        ledger_write_load(writer, &ledger->load);
        ledger_write_books(writer, &ledger->books);
    }
    if (ledger->done)
        ledger_write_done(writer, 1);
    FUZZ_HOLDS(json_lines_close(writer, &error));
}

static bool is_same_text(const char *a, const char *b)
{
    return !a == !b && (!a || strcmp(a, b) == 0);
}

static bool is_same_op(const struct ledger_op *a, const struct ledger_op *b)
{
    return a->kind == b->kind && a->due_us == b->due_us && a->start_us == b->start_us &&
           a->end_us == b->end_us && is_same_text(a->user, b->user) && a->product == b->product &&
           a->quantity == b->quantity && a->hold_s == b->hold_s && is_same_text(a->key, b->key) &&
           is_same_text(a->order, b->order) && is_same_text(a->named, b->named) &&
           strcmp(a->strategy, b->strategy) == 0 && a->repeat == b->repeat &&
           a->unasked == b->unasked && a->result == b->result && a->status == b->status &&
           strcmp(a->code, b->code) == 0 && a->state == b->state && a->fence == b->fence &&
           a->means == b->means && a->first == b->first && a->last == b->last;
}

static void check_same_books(const struct rows *a, const struct rows *b)
{
    FUZZ_HOLDS(a->has_left == b->has_left && a->left == b->left);
    FUZZ_HOLDS(a->has_orders == b->has_orders && a->orders_count == b->orders_count);
    for (size_t i = 0; i < a->orders_count; i++) {
        const struct row_order *left = &a->orders[i], *right = &b->orders[i];
        FUZZ_HOLDS(is_same_text(left->id, right->id) && is_same_text(left->user, right->user));
        FUZZ_HOLDS(left->quantity == right->quantity);
    }
}

static void check_same(const struct ledger *a, const struct ledger *b)
{
    FUZZ_HOLDS(a->seed == b->seed && a->done == b->done && is_same_text(a->shop, b->shop));
    FUZZ_HOLDS(memcmp(&a->load, &b->load, sizeof a->load) == 0);
    FUZZ_HOLDS(a->products_count == b->products_count && a->ops_count == b->ops_count);
    for (size_t i = 0; i < a->products_count; i++) {
        const struct ledger_product *left = &a->products[i], *right = &b->products[i];
        FUZZ_HOLDS(left->id == right->id && left->stock == right->stock &&
                   left->limit == right->limit && left->epoch == right->epoch);
    }
    for (size_t i = 0; i < a->ops_count; i++)
        FUZZ_HOLDS(is_same_op(&a->ops[i], &b->ops[i]));
    check_same_books(&a->books, &b->books);
}

static void check_op(const struct ledger_op *op)
{
    FUZZ_HOLDS(op->start_us >= 0 && op->due_us >= 0 && op->quantity >= 0);
    FUZZ_HOLDS(op->status >= 0 && op->status <= 999);
    FUZZ_HOLDS(op->end_us >= (op->unasked ? op->due_us : op->start_us));
    FUZZ_HOLDS(op->first == op->last || op->first == SHOP_ACCEPTED);
    FUZZ_HOLDS(!op->unasked || !op->order);
}

static void check_bounds(const struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->products_count; i++) {
        const struct ledger_product *product = &ledger->products[i];
        FUZZ_HOLDS(product->id >= !ledger->shop && product->stock >= 0 && product->limit >= 0);
        FUZZ_HOLDS(product->epoch >= 0 && ledger_find_product(ledger, product->id) == product);
    }
    for (size_t i = 0; i < ledger->ops_count; i++) {
        struct ledger_op *op = &ledger->ops[i];
        FUZZ_HOLDS(op->number >= 1 && ledger_find_op(ledger, op->number) == op);
        check_op(op);
    }
    FUZZ_HOLDS(ledger->load.began_us <= ledger->load.ended_us);
    FUZZ_HOLDS(ledger->books.left >= -ROWS_LEFT_MAX && ledger->books.left <= ROWS_LEFT_MAX);
    for (size_t i = 0; i < ledger->books.orders_count; i++)
        FUZZ_HOLDS(ledger->books.orders[i].quantity >= 0 &&
                   ledger->books.orders[i].quantity <= ROWS_UNITS_MAX);
}

/* Through a file without a name. */
static void check_read(const struct ledger *ledger, enum ledger_whose whose)
{
    struct error error = {.code = ERROR_NONE};
    struct ledger again;
    char path[64];
    int fd = memfd_create("ledger", MFD_CLOEXEC);

    FUZZ_HOLDS(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    write_all(ledger, path);
    FUZZ_HOLDS(ledger_read_file(&again, path, whose, &error));
    FUZZ_HOLDS(!again.cut && again.skipped == 0);
    check_same(ledger, &again);
    ledger_fini(&again);
    close(fd);
}

/* A target's stock is a billion at most. */
static void check_judged(struct ledger *ledger)
{
    static bool claims[FINDING_KIND_COUNT];
    const struct shop_terms terms = {.claims = claims};
    struct shop_judgement judgement;

    memset(claims, true, sizeof claims);
    if (ledger->products[0].stock > ROWS_UNITS_MAX)
        ledger->products[0].stock = 1;
    claims_judge(&terms, ledger, &judgement);
}

static void try_read(const uint8_t *data, size_t size, enum ledger_whose whose)
{
    struct error error = {.code = ERROR_NONE};
    struct ledger ledger;
    char *text = fuzz_copy(data, size);
    FILE *from = fmemopen(text, size > 0 ? size : 1, "r");

    FUZZ_HOLDS(from);
    if (ledger_read(&ledger, from, whose, &error)) {
        FUZZ_HOLDS(error.code == ERROR_NONE);
        check_bounds(&ledger);
        check_read(&ledger, whose);
        if (whose == LEDGER_OF_SHOP)
            check_judged(&ledger);
    } else {
        FUZZ_HOLDS(error.code != ERROR_NONE && *error.text);
        FUZZ_HOLDS(!ledger.ops && !ledger.products && !ledger.books.orders);
    }
    ledger_fini(&ledger);
    fclose(from);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_read(data, size, LEDGER_OF_SERVERS);
    try_read(data, size, LEDGER_OF_SHOP);
    return 0;
}
