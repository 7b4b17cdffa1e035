/*
 * Ledgers: a file that is read is read again the same when it is written; of one that is refused
 * nothing is left, and the error says in which line.
 */
#include "fuzz/fuzz.h"

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
    struct json_lines *writer = ledger_create(path, ledger->seed, &error);

    FUZZ_HOLDS(writer);
    for (size_t i = 0; i < ledger->products_count; i++)
        ledger_write_product(writer, &ledger->products[i]);
    for (size_t i = 0; i < ledger->ops_count; i++) {
        ledger_write_begin(writer, &ledger->ops[i]);
        if (ledger->ops[i].end_us != LEDGER_NEVER)
            ledger_write_end(writer, &ledger->ops[i]);
    }
    if (ledger->done)
        ledger_write_done(writer, 1);
    FUZZ_HOLDS(json_lines_close(writer, &error));
}

static bool is_same_op(const struct ledger_op *a, const struct ledger_op *b)
{
    return a->number == b->number && a->kind == b->kind && a->start_us == b->start_us &&
           a->end_us == b->end_us && a->user == b->user && a->product == b->product &&
           a->quantity == b->quantity && a->hold_s == b->hold_s && !a->key == !b->key &&
           (!a->key || strcmp(a->key, b->key) == 0) && strcmp(a->strategy, b->strategy) == 0 &&
           a->result == b->result && a->status == b->status && strcmp(a->code, b->code) == 0 &&
           strcmp(a->order, b->order) == 0 && a->state == b->state && a->fence == b->fence;
}

static void check_same(const struct ledger *a, const struct ledger *b)
{
    FUZZ_HOLDS(a->seed == b->seed && a->done == b->done);
    FUZZ_HOLDS(a->products_count == b->products_count && a->ops_count == b->ops_count);
    for (size_t i = 0; i < a->products_count; i++) {
        const struct ledger_product *left = &a->products[i], *right = &b->products[i];
        FUZZ_HOLDS(left->id == right->id && left->stock == right->stock &&
                   left->limit == right->limit && left->epoch == right->epoch);
    }
    for (size_t i = 0; i < a->ops_count; i++)
        FUZZ_HOLDS(is_same_op(&a->ops[i], &b->ops[i]));
}

static void check_bounds(const struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->products_count; i++) {
        const struct ledger_product *product = &ledger->products[i];
        FUZZ_HOLDS(product->id > 0 && product->stock >= 0 && product->limit >= 0);
        FUZZ_HOLDS(product->epoch >= 0 && ledger_find_product(ledger, product->id) == product);
    }
    for (size_t i = 0; i < ledger->ops_count; i++) {
        struct ledger_op *op = &ledger->ops[i];
        FUZZ_HOLDS(op->number > 0 && ledger_find_op(ledger, op->number) == op);
        FUZZ_HOLDS(op->start_us >= 0 && op->end_us >= op->start_us && op->quantity >= 0);
        FUZZ_HOLDS(op->status >= 0 && op->status <= 999);
    }
}

/* Through a file without a name. */
static void check_read(const struct ledger *ledger)
{
    struct error error = {.code = ERROR_NONE};
    struct ledger again;
    char path[64];
    int fd = memfd_create("ledger", MFD_CLOEXEC);

    FUZZ_HOLDS(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    write_all(ledger, path);
    FUZZ_HOLDS(ledger_read_file(&again, path, &error));
    FUZZ_HOLDS(!again.cut && again.skipped == 0);
    check_same(ledger, &again);
    ledger_fini(&again);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {.code = ERROR_NONE};
    struct ledger ledger;
    char *text = fuzz_copy(data, size);
    FILE *from = fmemopen(text, size > 0 ? size : 1, "r");

    FUZZ_HOLDS(from);
    if (ledger_read(&ledger, from, &error)) {
        FUZZ_HOLDS(error.code == ERROR_NONE);
        check_bounds(&ledger);
        check_read(&ledger);
    } else {
        FUZZ_HOLDS(error.code != ERROR_NONE && *error.text);
        FUZZ_HOLDS(!ledger.ops && !ledger.products);
    }
    ledger_fini(&ledger);
    fclose(from);
    free(text);
    return 0;
}
