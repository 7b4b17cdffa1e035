/*
 * Messages of partitioned-queue, as the broker may hand them over: requests and replies.
 *
 * A request that is read is within its bounds, and read again the same when it is written; of one
 * that is not, nothing is added. A reply is read line by line, each again the same.
 */
#include "fuzz/fuzz.h"

#include "strategies/partitioned_queue/partition.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = 2, MARK = 7 };

static struct partition_entry first[MARK + PARTITION_BATCH];
static struct partition_entry again[PARTITION_BATCH];

static void check_entry(const struct partition_entry *entry)
{
    FUZZ_HOLDS(entry->outcome == ORDER_PENDING);
    FUZZ_HOLDS(entry->product_id >= 1);
    if (entry->kind != ORDER_RESTOCK)
        return;
    FUZZ_HOLDS(entry->epoch >= 1 && entry->created_us >= 0);
    FUZZ_HOLDS(entry->quantity >= 1 && entry->quantity <= ORDER_QUANTITY_MAX);
    for (const char *at = entry->key; *at; at++)
        FUZZ_HOLDS(*at > ' ' && *at < 0x7f);
}

static char *write_request(const struct partition_entry *entries, int count)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    FUZZ_HOLDS(to);
    partition_write_product(to, entries->product_id);
    for (int i = 0; i < count; i++) {
        struct order order = {.kind = entries[i].kind,
                              .id = entries[i].id,
                              .quantity = entries[i].quantity,
                              .created_us = entries[i].created_us};
        memcpy(order.key, entries[i].key, sizeof order.key);
        order.record.id = order.id;
        partition_write_order(to, &order, entries[i].epoch);
    }
    fclose(to);
    return text;
}

static bool is_same(const struct partition_entry *a, const struct partition_entry *b)
{
    return a->kind == b->kind && uuid_equal(&a->id, &b->id) && a->product_id == b->product_id &&
           a->epoch == b->epoch && a->quantity == b->quantity && strcmp(a->key, b->key) == 0 &&
           a->created_us == b->created_us;
}

static void read_request(const char *text)
{
    int count = MARK;
    int same = 0;

    if (!partition_read_request(text, first, &count)) {
        FUZZ_HOLDS(count == MARK);
        return;
    }
    FUZZ_HOLDS(count >= MARK && count <= MARK + PARTITION_BATCH);
    if (count == MARK)
        return;
    for (int i = MARK; i < count; i++)
        check_entry(&first[i]);
    char *written = write_request(first + MARK, count - MARK);
    FUZZ_HOLDS(partition_read_request(written, again, &same) && same == count - MARK);
    for (int i = 0; i < same; i++)
        FUZZ_HOLDS(is_same(&first[MARK + i], &again[i]));
    free(written);
}

static void read_reply(const char *text)
{
    struct partition_entry entry = {0}, same = {0};
    const char *at = text;

    while (partition_read_reply(&at, &entry)) {
        char *written = NULL;
        size_t length = 0;
        FILE *to = open_memstream(&written, &length);
        FUZZ_HOLDS(to);
        FUZZ_HOLDS(entry.outcome < ORDER_OUTCOME_COUNT && entry.created_us >= 0 &&
                   entry.hold_until_us >= 0);
        partition_write_reply(to, &entry);
        fclose(to);
        const char *line = written;
        FUZZ_HOLDS(partition_read_reply(&line, &same) && *line == '\0');
        FUZZ_HOLDS(entry.kind == same.kind && uuid_equal(&entry.id, &same.id));
        FUZZ_HOLDS(entry.outcome == same.outcome && entry.created_us == same.created_us &&
                   entry.hold_until_us == same.hold_until_us);
        free(written);
    }
    FUZZ_HOLDS(at >= text && at <= text + strlen(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned kind = fuzz_kind(&data, &size, KINDS);
    char *text = fuzz_copy(data, size);

    if (kind == 0)
        read_request(text);
    else
        read_reply(text);
    free(text);
    return 0;
}
