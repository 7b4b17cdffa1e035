/*
 * The consumers of partitioned-queue: threads that take the sets' messages.
 *
 * Happy path: every instance has consumers, and each consumes all its sets; of a set the broker
 * makes one consumer, over all instances, the active one. That consumer takes the messages that
 * have come, up to a batch, has them decided and committed, sends the replies, and acknowledges.
 *
 * Failure modes:
 * - Anything fails on the way: the consumer closes its connection. The broker gives the messages,
 * in their order, to the next consumer, which may be this one again after a pause.
 * - A row is not there: the consumer closes its connection, once a message, for somebody may see
 * the database that has it (a primary was failed over from, and this process still sees it). Where
 * no instance has it, "unknown" is replied, and the resender of the asking instance looks.
 * - PostgreSQL is away: the instance does not consume, so that another instance gets its sets.
 * - A product's row is held: the product's entries are put off and tried again when the row is
 * free; entries of other products are decided meanwhile. Buys that are put off are acknowledged
 * (their rows are queued). A cancel or a restock that is put off keeps its message, and the
 * messages behind it, unacknowledged.
 * - What one entry needs besides its product's row is held: that entry is put off and tried again
 * after a moment; all others are decided meanwhile.
 */
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "sale/decide_many/held.h"
#include "strategies/partitioned_queue/partition.h"
#include "strategy/external_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_US = 200000,        /* how often a waiting thread looks whether it must stop */
    LOOK_FREE_US = 20000,    /* and for the rows of what was put off */
    PAUSE_FIRST_US = 100000, /* before it tries again after a failure */
    PAUSE_MOST_US = 2000000,
    SESSION_IDLE_US = 10000000,
    MESSAGES_MAX = 64
};
_Static_assert(2 * PARTITION_BATCH <= EXTERNAL_STATE_GAINS_MAX + 0,
               "all that was taken in can be told of");

struct consumer {
    struct partitioned_queue *queue; /* borrowed: whose consumer it is */
    const struct services *services; /* borrowed: app */
    int number;
    pthread_t thread;
    struct session *session; /* owned */
    bool listening;
    int64_t base;    /* of the database whose queues it listens to */
    int64_t busy_us; /* when it last had a message */
    int64_t pause_us;
    struct error last; /* what was logged last */

    struct partition_entry entries[2 * PARTITION_BATCH];
    int count;
    char reply_to[MESSAGES_MAX][RABBIT_NAME_MAX + 1];
    uint64_t tags[MESSAGES_MAX];
    bool again[MESSAGES_MAX]; /* the message cannot be handed back, or has been */
    int messages;
    struct put_off *put_off; /* owned */
    int64_t look_at_us;      /* for what was put off */
    bool took_put_off;       /* the last time */
};

/* Closes the connection, and logs why unless it has been logged. */
static void fail(struct consumer *consumer, const struct error *error)
{
    if (strcmp(error->text, consumer->last.text) != 0)
        log_warn("partitioned-queue: %s", error->text);
    consumer->last = *error;
    rabbit_close(partition_rabbit(consumer->session));
    consumer->listening = false;
    put_off_forget_unacknowledged(consumer->put_off);
}

static void pause_after_failure(struct consumer *consumer)
{
    int64_t until_us = clock_mono_us() + consumer->pause_us;

    while (!atomic_load(&consumer->queue->stopping) && clock_mono_us() < until_us)
        clock_sleep_until(until_us < clock_mono_us() + LOOK_US ? until_us
                                                               : clock_mono_us() + LOOK_US);
    if (consumer->pause_us < PAUSE_MOST_US)
        consumer->pause_us *= 2;
}

static bool consume_sets(struct consumer *consumer)
{
    const struct settings *settings = consumer->services->settings;
    char queue[RABBIT_NAME_MAX + 1];

    consumer->base = pg_epoch_base(consumer->session->pg);
    for (int64_t set = consumer->number; set < settings->sets; set += PARTITION_CONSUMERS) {
        partition_queue(consumer->session, set, queue);
        if (!rabbit_consume(partition_rabbit(consumer->session), RABBIT_WORK, queue))
            return false;
    }
    return true;
}

static bool listen_to_sets(struct consumer *consumer)
{
    struct session *session = consumer->session;
    int64_t until_us = clock_mono_us() + PARTITION_TIMEOUT_US;

    if (!pg_connect(session->pg, until_us) || pg_may_commit(session->pg) != PG_OK) {
        fail(consumer, pg_error(session->pg));
    } else if (!rabbit_connect(partition_rabbit(session), until_us) || !consume_sets(consumer)) {
        fail(consumer, rabbit_error(partition_rabbit(session)));
    } else {
        consumer->listening = true;
        consumer->busy_us = clock_mono_us();
    }
    return consumer->listening;
}

/* Takes one message in. A message that cannot be read is logged and dropped. */
static void take_in(struct consumer *consumer, const struct rabbit_message *message)
{
    int first = consumer->count;

    if (!partition_read_request(message->body, consumer->entries, &consumer->count))
        log_error("partitioned-queue: a message that cannot be read was dropped: %.60s",
                  message->body);
    for (int i = first; i < consumer->count; i++)
        consumer->entries[i].message = consumer->messages;
    consumer->tags[consumer->messages] = message->tag;
    consumer->again[consumer->messages] = message->again;
    memcpy(consumer->reply_to[consumer->messages++], message->reply_to, sizeof message->reply_to);
}

/* Takes in entries that were put off and can be decided now. False: there are none. */
static bool take_put_off(struct consumer *consumer)
{
    int64_t product_id = 0;

    if (!put_off_is_empty(consumer->put_off) && clock_mono_us() >= consumer->look_at_us)
        product_id = put_off_find_free(consumer->put_off, consumer->session);
    if (product_id == 0)
        return false;
    consumer->count =
        put_off_take(consumer->put_off, product_id, consumer->entries, consumer->reply_to,
                     consumer->tags, MESSAGES_MAX, &consumer->messages);
    memset(consumer->again, true, sizeof consumer->again);
    return true;
}

/* Waits for a first message, and takes the messages that have come behind it. */
static enum rabbit_result gather(struct consumer *consumer)
{
    struct rabbit *rabbit = partition_rabbit(consumer->session);
    struct rabbit_message message;

    bool hurry = consumer->took_put_off; /* new messages and old entries take turns */
    consumer->took_put_off = !hurry && take_put_off(consumer);
    if (consumer->took_put_off)
        return RABBIT_GOT;
    if (!hurry && clock_mono_us() >= consumer->look_at_us)
        consumer->look_at_us = clock_mono_us() + LOOK_FREE_US;
    int64_t until_us =
        put_off_is_empty(consumer->put_off) ? clock_mono_us() + LOOK_US : consumer->look_at_us;
    consumer->count = consumer->messages = 0;
    enum rabbit_result result = rabbit_receive(rabbit, until_us, &message);
    while (result == RABBIT_GOT) {
        take_in(consumer, &message);
        if (consumer->count >= PARTITION_BATCH || consumer->messages == MESSAGES_MAX)
            break;
        result = rabbit_receive(rabbit, 0, &message);
    }
    return result == RABBIT_LOST || consumer->messages == 0 ? result : RABBIT_GOT;
}

/* How many entries from `first` on can be decided together: buys in a row, or one of the others. */
static int run_length(const struct consumer *consumer, int first)
{
    int n = 0;

    while (first + n < consumer->count && n < PARTITION_BATCH &&
           consumer->entries[first + n].kind == ORDER_BUY)
        n++;
    return n > 0 ? n : 1;
}

static bool decide(struct consumer *consumer)
{
    struct session *session = consumer->session;
    bool decided = true;

    for (int at = 0, n; decided && at < consumer->count; at += n) {
        struct partition_entry *entry = &consumer->entries[at];
        n = run_length(consumer, at);
        switch (entry->kind) {
        case ORDER_CANCEL:
        case ORDER_EXPIRE:
            decided = partition_decide_cancel(session, entry);
            break;
        case ORDER_RESTOCK:
            decided = partition_decide_restock(session, entry);
            break;
        default:
            decided = partition_decide_buys(session, entry, n);
        }
    }
    return decided;
}

/* Puts off the entries that are not decided because a lock is held. False: there is no room. */
static bool put_off(struct consumer *consumer)
{
    int left = 0;

    for (int i = 0; i < consumer->count; i++) {
        const struct partition_entry *entry = &consumer->entries[i];
        if (entry->outcome != ORDER_RETRY)
            consumer->entries[left++] = *entry;
        else if (!put_off_add(consumer->put_off, entry, consumer->reply_to[entry->message],
                              consumer->tags[entry->message]))
            return false;
    }
    consumer->count = left;
    return true;
}

/* Whether there is something that this process, and nobody else so far, has found no row of. */
static bool is_to_be_handed_back(const struct consumer *consumer)
{
    for (int i = 0; i < consumer->count; i++)
        if (consumer->entries[i].missing && !consumer->again[consumer->entries[i].message])
            return true;
    return false;
}

/* Announces returned units to the external state, also those that an earlier delivery has
 * committed: its consumer may have died before it announced them. */
static void announce_stock(const struct consumer *consumer)
{
    struct external_state_gains gains;

    gains.count = 0;
    for (int i = 0; i < consumer->count; i++)
        external_state_note_gain(&gains, consumer->entries[i].product_id, consumer->entries[i].kind,
                                 consumer->entries[i].outcome);
    external_state_stock_added(consumer->session, partition_strategy(consumer->session), &gains);
}

/* One message for each queue that waits for some of the entries. */
static void reply(struct consumer *consumer)
{
    for (int i = 0; i < consumer->messages; i++) {
        const char *queue = consumer->reply_to[i];
        char *body = NULL;
        size_t length = 0;
        int first = 0;

        while (strcmp(consumer->reply_to[first], queue) != 0)
            first++;
        FILE *to = *queue && first == i ? open_memstream(&body, &length) : NULL;
        if (!to)
            continue;
        for (int j = 0; j < consumer->count; j++)
            if (strcmp(consumer->reply_to[consumer->entries[j].message], queue) == 0)
                partition_write_reply(to, &consumer->entries[j]);
        fclose(to);
        rabbit_send(partition_rabbit(consumer->session), queue, body, length);
        free(body);
    }
}

static void charge(const struct consumer *consumer)
{
    struct cost_outcomes count = {{0}};

    for (int i = 0; i < consumer->count; i++)
        if (consumer->entries[i].kind == ORDER_BUY)
            cost_count_buy(&count, consumer->entries[i].outcome);
    cost_charge_outcomes(consumer->services, partition_strategy(consumer->session), &count);
}

/* Acknowledges the batch's messages, each once. One of which something was put off that has no row
 * keeps waiting, and those that came with it go one by one; where none waits, the last one stands
 * for all. */
static bool acknowledge(struct consumer *consumer)
{
    struct rabbit *rabbit = partition_rabbit(consumer->session);
    bool one_by_one = consumer->took_put_off || put_off_keeps_any(consumer->put_off);
    bool done = true;

    if (!one_by_one)
        return rabbit_ack(rabbit, consumer->tags[consumer->messages - 1], true);
    for (int i = 0; done && i < consumer->messages; i++)
        if (consumer->tags[i] > 0 && !put_off_keeps(consumer->put_off, consumer->tags[i]))
            done = rabbit_ack(rabbit, consumer->tags[i], false);
    return done;
}

/* The database was made again: what is in its queues is another one's. */
static void leave_old_queues(struct consumer *consumer)
{
    if (consumer->listening && consumer->base != pg_epoch_base(consumer->session->pg)) {
        rabbit_close(partition_rabbit(consumer->session));
        consumer->listening = false;
        put_off_forget_unacknowledged(consumer->put_off);
    }
}

/* False: the connection is closed, and the messages that were not acknowledged come again. */
static bool serve(struct consumer *consumer)
{
    struct session *session = consumer->session;
    enum rabbit_result result = gather(consumer);
    struct error error;

    if (result == RABBIT_NOTHING) {
        if (clock_mono_us() - consumer->busy_us > SESSION_IDLE_US)
            pg_close(session->pg);
        return true;
    }
    consumer->busy_us = clock_mono_us();
    if (result == RABBIT_LOST) {
        fail(consumer, rabbit_error(partition_rabbit(session)));
        return false;
    }
    if (!decide(consumer) || !put_off(consumer)) {
        cost_charge(consumer->services, partition_strategy(consumer->session), COST_OTHER, 0);
        fail(consumer, pg_error(session->pg));
        return false;
    }
    if (is_to_be_handed_back(consumer)) {
        error_set(&error, ERROR_UNAVAILABLE, "orders are not in this database: handed back");
        fail(consumer, &error);
        return false;
    }
    charge(consumer);
    FAILPOINT_WITH("queue.committed", consumer->entries, consumer->count, product_id);
    announce_stock(consumer);
    FAILPOINT_WITH("queue.decided", consumer->entries, consumer->count, product_id);
    reply(consumer);
    if (!acknowledge(consumer)) {
        fail(consumer, rabbit_error(partition_rabbit(session)));
        return false;
    }
    consumer->pause_us = PAUSE_FIRST_US;
    consumer->last.text[0] = '\0';
    return true;
}

static void *consumer_main(void *argument)
{
    struct consumer *consumer = argument;

    while (!atomic_load(&consumer->queue->stopping)) {
        leave_old_queues(consumer);
        if ((!consumer->listening && !listen_to_sets(consumer)) || !serve(consumer))
            pause_after_failure(consumer);
    }
    return NULL;
}

static void destroy(struct consumer *consumer)
{
    session_destroy(consumer->session);
    put_off_destroy(consumer->put_off);
    free(consumer);
}

static struct consumer *create(struct partitioned_queue *queue, int number)
{
    struct consumer *consumer = calloc(1, sizeof *consumer);

    if (!consumer)
        return NULL;
    consumer->queue = queue;
    consumer->services = queue->services;
    consumer->number = number;
    consumer->pause_us = PAUSE_FIRST_US;
    consumer->session = session_create(queue->services);
    consumer->put_off = put_off_create();
    if (consumer->session) {
        consumer->session->instance = queue;
        held_limit(consumer->session->pg);
    }
    if (!consumer->session || !consumer->put_off ||
        pthread_create(&consumer->thread, NULL, consumer_main, consumer) != 0) {
        destroy(consumer);
        return NULL;
    }
    return consumer;
}

bool partition_consumers_start(struct partitioned_queue *queue)
{
    for (int i = 0; i < PARTITION_CONSUMERS && i < queue->services->settings->sets; i++) {
        queue->consumers[i] = create(queue, i);
        if (!queue->consumers[i])
            return false;
    }
    return true;
}

void partition_consumers_stop(struct partitioned_queue *queue)
{
    atomic_store(&queue->stopping, true);
    for (int i = 0; i < PARTITION_CONSUMERS && queue->consumers[i]; i++) {
        pthread_join(queue->consumers[i]->thread, NULL);
        destroy(queue->consumers[i]);
    }
}
