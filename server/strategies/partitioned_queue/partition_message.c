/*
 * Messages are text: a first line with the version and the product, then a line an order:
 *
 *     1 42
 *     buy 01933f6e-…
 *     cancel 01933f6e-…
 *     restock 01933f70-… EPOCH QUANTITY CREATED_US [KEY]
 *
 * A buy and a cancel name a row of PostgreSQL, which has the rest; a restock has none before it is
 * done. An expire names a row, too. A reply has lines `KIND ID OUTCOME TIME`: until when
 * a buy may be paid (0: it need not be), and of others when the order was made.
 */
#include "strategies/partitioned_queue/partition.h"

#include "base/clock.h"
#include "base/log.h"
#include "strategy/parking.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_AGAIN_US = 500000 };

void partition_queue(const struct session *session, int64_t product_id,
                     char out[RABBIT_NAME_MAX + 1])
{
    const struct settings *settings = session->services->settings;
    int64_t mark = pg_epoch_base(session->pg) / PG_EPOCHS;
    int n = snprintf(out, RABBIT_NAME_MAX + 1, "%s.orders", settings->system_name);

    if (mark > 0)
        n += snprintf(out + n, (size_t)(RABBIT_NAME_MAX + 1 - n), ".%" PRId64, mark);
    snprintf(out + n, (size_t)(RABBIT_NAME_MAX + 1 - n), ".%" PRId64 ".%" PRId64, settings->sets,
             product_id % settings->sets);
}

void partition_write_product(FILE *to, int64_t product_id)
{
    fprintf(to, "1 %" PRId64 "\n", product_id);
}

void partition_write_id(FILE *to, const struct uuid *id)
{
    char text[UUID_TEXT_LENGTH + 1];

    uuid_format(id, text);
    fprintf(to, "buy %s\n", text);
}

void partition_write_order(FILE *to, const struct order *order, int64_t epoch)
{
    char id[UUID_TEXT_LENGTH + 1];

    uuid_format(parking_id(order), id);
    if (order->kind == ORDER_RESTOCK)
        fprintf(to, "restock %s %" PRId64 " %" PRId64 " %" PRId64 " %s\n", id, epoch,
                order->quantity, order->created_us, order->key);
    else
        fprintf(to, "%s %s\n", order_kind_name(order->kind), id);
}

static bool kind_of(const char *name, enum order_kind *out)
{
    for (int kind = 0; kind < ORDER_KIND_COUNT; kind++)
        if (strcmp(name, order_kind_name((enum order_kind)kind)) == 0) {
            *out = (enum order_kind)kind;
            return true;
        }
    return false;
}

/* Takes the word at `*at`, which ends at a space or the line's end; false when it does not fit. */
static bool read_word(const char **at, char *out, size_t size)
{
    size_t length = strcspn(*at, " \n");

    if (length >= size)
        return false;
    memcpy(out, *at, length);
    out[length] = '\0';
    *at += length + ((*at)[length] == ' ');
    return true;
}

/* Digits alone, from `least` to `most`: whoever can write to the broker must not be able to restock
 * less than nothing. */
static bool read_number(const char **at, int64_t least, int64_t most, int64_t *out)
{
    char word[24];
    char *end;

    if (!read_word(at, word, sizeof word) || word[0] < '0' || word[0] > '9')
        return false;
    errno = 0;
    *out = strtoll(word, &end, 10);
    return *end == '\0' && errno == 0 && *out >= least && *out <= most;
}

/* "" where there is none. */
static bool read_key(const char **at, char out[ORDER_KEY_MAX + 1])
{
    if (!read_word(at, out, ORDER_KEY_MAX + 1))
        return false;
    while (order_key_may_hold(*out))
        out++;
    return *out == '\0';
}

static bool read_kind_and_id(const char **at, struct partition_entry *out)
{
    char kind[16];
    char id[UUID_TEXT_LENGTH + 1];

    return read_word(at, kind, sizeof kind) && kind_of(kind, &out->kind) &&
           read_word(at, id, sizeof id) && uuid_parse(id, &out->id);
}

static bool read_newline(const char **at)
{
    bool found = **at == '\n';

    *at += found;
    return found;
}

/* Reads a line and its end. */
static bool read_line(const char **at, struct partition_entry *out)
{
    if (!read_kind_and_id(at, out))
        return false;
    if (out->kind == ORDER_RESTOCK &&
        !(read_number(at, 1, INT64_MAX, &out->epoch) &&
          read_number(at, 1, ORDER_QUANTITY_MAX, &out->quantity) &&
          read_number(at, 0, INT64_MAX, &out->created_us) && read_key(at, out->key)))
        return false;
    return read_newline(at);
}

bool partition_read_request(const char *body, struct partition_entry *out, int *count)
{
    int64_t version;
    int64_t product_id;
    int first = *count;

    if (!read_number(&body, 1, 1, &version) || !read_number(&body, 1, ORDER_ID_MAX, &product_id) ||
        !read_newline(&body))
        return false;
    while (*body) {
        struct partition_entry entry = {.product_id = product_id, .outcome = ORDER_PENDING};
        if (*count - first == PARTITION_BATCH || !read_line(&body, &entry)) {
            *count = first;
            return false;
        }
        out[(*count)++] = entry;
    }
    return true;
}

void partition_write_reply(FILE *to, const struct partition_entry *entry)
{
    char id[UUID_TEXT_LENGTH + 1];

    uuid_format(&entry->id, id);
    fprintf(to, "%s %s %s %" PRId64 "\n", order_kind_name(entry->kind), id,
            order_outcome_row(entry->outcome)->name,
            entry->kind == ORDER_BUY ? entry->hold_until_us : entry->created_us);
}

static bool outcome_of(const char *name, enum order_outcome *out)
{
    for (int i = 0; i < ORDER_OUTCOME_COUNT; i++)
        if (strcmp(name, order_outcome_row((enum order_outcome)i)->name) == 0) {
            *out = (enum order_outcome)i;
            return true;
        }
    return false;
}

bool partition_read_reply(const char **body, struct partition_entry *out)
{
    char outcome[32];
    int64_t time_us;

    if (!**body || !read_kind_and_id(body, out) || !read_word(body, outcome, sizeof outcome) ||
        !outcome_of(outcome, &out->outcome) || !read_number(body, 0, INT64_MAX, &time_us) ||
        !read_newline(body))
        return false;
    out->hold_until_us = out->kind == ORDER_BUY ? time_us : 0;
    out->created_us = out->kind == ORDER_BUY ? 0 : time_us;
    return true;
}

bool partition_publish(struct session *session, int64_t product_id, const char *reply_to,
                       const char *body, size_t length, int64_t until_us)
{
    struct rabbit *rabbit = partition_rabbit(session);
    char queue[RABBIT_NAME_MAX + 1];

    partition_queue(session, product_id, queue);
    if (rabbit_connect(rabbit, until_us) &&
        rabbit_publish(rabbit, queue, reply_to, body, length, until_us))
        return true;
    /* A queue that was deleted a moment ago. RabbitMQ takes one that is made again before its
     * consumers' channels hear of that for the old one: it keeps the consumers, and they get
     * nothing. They make it again themselves, after a tenth of a second. */
    if (rabbit_was_unrouted(rabbit))
        clock_sleep_until(clock_earlier(clock_mono_us() + MADE_AGAIN_US, until_us));
    /* A connection that had ended unnoticed, or a broker that has no such queue yet. */
    if (clock_mono_us() < until_us && rabbit_connect(rabbit, until_us) &&
        rabbit_declare(rabbit, RABBIT_WORK, queue) &&
        rabbit_publish(rabbit, queue, reply_to, body, length, until_us))
        return true;
    log_warn("%s: not published: %s", queue, rabbit_error(rabbit)->text);
    return false;
}
