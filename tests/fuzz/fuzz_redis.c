/*
 * Replies of Redis, as bytes on the wire: what is read of them through redis.h, and the entries of
 * redis-stock's stream in them.
 *
 * hiredis takes the bytes apart; whatever it makes of them, looking at it never fails. An order
 * that is found is within its bounds, is found again when its line is written, and can be told to
 * the script that settles it: no white space in what that takes apart at spaces.
 */
#include "fuzz/fuzz.h"

#include "strategies/redis_stock/writer/stock_stream.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 8, ELEMENTS_MAX = 4096, LINE_SIZE = 512 };

static void look(const struct redis_reply *reply, int depth)
{
    int count = redis_reply_count(reply);
    const char *text = redis_reply_text(reply);

    FUZZ_HOLDS(count >= 0 && !(count > 0 && text));
    redis_reply_number(reply);
    FUZZ_HOLDS(!redis_reply_at(reply, count));
    for (int i = 0; i < count && depth < DEPTH_MAX; i++)
        look(redis_reply_at(reply, i), depth + 1);
}

/* hiredis makes room for as many elements as an array says that it has (0.14 without a bound), so
 * Redis's word is taken for it here. */
static bool is_modest(const char *bytes, size_t length)
{
    const char *end = bytes + length;

    for (const char *at = bytes; (at = memchr(at, '*', (size_t)(end - at))); at++)
        if (strtoll(at + 1, NULL, 10) > ELEMENTS_MAX)
            return false;
    return true;
}

static redisReply *parse(const char *bytes, size_t length)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    FUZZ_HOLDS(reader);
    if (!is_modest(bytes, length) || redisReaderFeed(reader, bytes, length) != 0 ||
        redisReaderGetReply(reader, &reply) != 0)
        reply = NULL;
    redisReaderFree(reader);
    return reply;
}

/* An entry of one line, as the stream has it. */
static redisReply *make_entry(const struct waiting_order *order, const char *line)
{
    char product[STOCK_NUMBER_MAX], epoch[STOCK_NUMBER_MAX], bytes[2 * LINE_SIZE];

    stock_number(order->product_id, product);
    stock_number(order->epoch, epoch);
    int n = snprintf(bytes, sizeof bytes,
                     "*2\r\n$3\r\n1-1\r\n*6\r\n$7\r\nproduct\r\n$%zu\r\n%s\r\n"
                     "$5\r\nepoch\r\n$%zu\r\n%s\r\n$6\r\norders\r\n$%zu\r\n%s\r\n",
                     strlen(product), product, strlen(epoch), epoch, strlen(line), line);
    redisReply *entry = parse(bytes, (size_t)n);
    FUZZ_HOLDS(entry);
    return entry;
}

static void check_order(const struct waiting_order *order)
{
    char id[UUID_TEXT_LENGTH + 1], line[LINE_SIZE], hold[STOCK_NUMBER_MAX] = "";
    struct waiting_lines lines;
    struct waiting_order again;

    FUZZ_HOLDS(order->product_id >= 1 && order->epoch >= 1 && order->user_id >= 1);
    FUZZ_HOLDS(order->quantity >= 1 && order->quantity <= ORDER_QUANTITY_MAX);
    for (const char *at = order->key; *at; at++)
        FUZZ_HOLDS(*at > ' ' && *at < 0x7f);
    bool holds = order->hold_s != ORDER_HOLD_NOT_SAID;
    FUZZ_HOLDS(!holds || (order->hold_s >= 0 && order->hold_s <= ORDER_HOLD_MAX_S));
    if (holds)
        snprintf(hold, sizeof hold, ":%lld", (long long)order->hold_s);
    uuid_format(&order->id, id);
    snprintf(line, sizeof line, "%s %lld %lld %lld%s %s\n", id, (long long)order->user_id,
             (long long)order->quantity, (long long)order->created_us, hold, order->key);
    redisReply *entry = make_entry(order, line);
    waiting_open((const struct redis_reply *)entry, &lines);
    FUZZ_HOLDS(waiting_next(&lines, &again) && lines.malformed == 0);
    FUZZ_HOLDS(uuid_equal(&order->id, &again.id) && order->product_id == again.product_id &&
               order->epoch == again.epoch && order->user_id == again.user_id &&
               order->quantity == again.quantity && order->created_us == again.created_us &&
               order->hold_s == again.hold_s && strcmp(order->key, again.key) == 0);
    FUZZ_HOLDS(!waiting_next(&lines, &again));
    freeReplyObject(entry);
}

static void read_entry(const struct redis_reply *entry)
{
    struct waiting_lines lines;
    struct waiting_order order;
    struct order_record record;

    waiting_open(entry, &lines);
    while (waiting_next(&lines, &order)) {
        check_order(&order);
        waiting_record(&order, &record);
        FUZZ_HOLDS(record.status == STATUS_QUEUED && uuid_equal(&record.id, &order.id));
    }
    FUZZ_HOLDS(lines.malformed >= 0 && *lines.at == '\0');
}

static void read_stream(const struct redis_reply *entries)
{
    static struct claim claims[WRITE_MAX];
    static struct stock_part part;
    struct stock_stream stream = {.entries = entries, .claims = claims};
    int left = redis_reply_count(entries);

    while (stock_stream_next(&stream, &part)) {
        int orders = 0;
        FUZZ_HOLDS(part.count <= WRITE_MAX && part.entries_count <= STREAM_ENTRIES);
        FUZZ_HOLDS(part.entries_count <= left);
        left -= part.entries_count;
        for (int i = 0; i < part.entries_count; i++) {
            FUZZ_HOLDS(part.entries[i].first == orders);
            FUZZ_HOLDS(part.entries[i].count > 0 || !part.entries[i].whole);
            orders += part.entries[i].count;
        }
        FUZZ_HOLDS(orders == part.count);
        for (int i = 0; i < part.count; i++)
            check_order(&claims[i].order);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = fuzz_copy(data, size);
    redisReply *answer = parse(bytes, size);
    const struct redis_reply *reply = (const struct redis_reply *)answer;

    free(bytes);
    if (!answer)
        return 0;
    look(reply, 0);
    read_entry(reply);
    /* The real reply has STREAM_ENTRIES at most: it was asked for no more. */
    if (redis_reply_count(reply) <= STREAM_ENTRIES)
        read_stream(reply);
    freeReplyObject(answer);
    return 0;
}
