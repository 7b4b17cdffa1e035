/*
 * rabbit.h over librabbitmq.
 *
 * The library is synchronous and serves heartbeats only inside its own calls, so a connection that
 * its thread neglects for two heartbeats is closed by the broker and made again on its next use.
 * Channel 1 consumes, acknowledges and replies; channel 2 has publisher confirms and one message
 * under way at a time, so a confirm needs no book-keeping; queues are declared on channel 3, which
 * the broker closes where there is one with other arguments. Anything else unexpected (the broker
 * closes a channel, a queue is deleted under its consumer) closes the connection.
 */
#include "rabbitmq/rabbit.h"

#include "base/clock.h"
#include "base/log.h"
#include "rabbitmq/rabbitmq_broker.h"

#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROOF_US = 1000000,
    HEARTBEAT_S = 10,
    CALL_TIMEOUT_US = 5000000, /* one question to the broker and its answer */
    FRAME_BYTES = 131072,
    CHANNEL = 1,
    CONFIRMED = 2,
    DECLARES = 3,
    /* Messages, each with up to a batch of orders: a consumer's next, and cancels and restocks
     * whose row is held, which keep theirs. */
    PREFETCH = 64,
    REPLIES_EXPIRE_MS = 60000,
    REPLIES_MOST = 100000
};

struct rabbit {
    struct broker *broker;        /* borrowed */
    amqp_connection_state_t conn; /* owned; NULL: not connected */
    bool has_envelope;
    amqp_envelope_t envelope; /* owned while has_envelope: the last message received */
    char *body;               /* owned: its body and a NUL */
    bool returned;            /* a reply that had no queue was logged */
    bool unrouted;            /* so came the last message that was to be confirmed */
    struct error error;
};

static void *rabbit_open(void *broker)
{
    struct rabbit *rabbit = calloc(1, sizeof *rabbit);

    if (rabbit)
        rabbit->broker = broker;
    return rabbit;
}

static void rabbit_end(void *opened)
{
    struct rabbit *rabbit = opened;

    if (!rabbit)
        return;
    broker_note_queues(rabbit->broker, rabbit, NULL);
    rabbit_close(rabbit);
    free(rabbit);
}

/* Before a sale: no order is begun that could not be sent. */
static bool rabbit_make_sure(void *session, int64_t until_us, struct error *error)
{
    struct rabbit *rabbit = session;

    error->code = ERROR_NONE; /* an alarm has been logged */
    if (broker_alarm(rabbit->broker).code != ERROR_NONE)
        return false;
    bool connected = rabbit_connect(rabbit, until_us);
    if (!connected)
        *error = *rabbit_error(rabbit);
    return connected;
}

const struct error *rabbit_error(const struct rabbit *rabbit)
{
    return &rabbit->error;
}

static void drop_envelope(struct rabbit *rabbit)
{
    if (rabbit->has_envelope)
        amqp_destroy_envelope(&rabbit->envelope);
    rabbit->has_envelope = false;
    free(rabbit->body);
    rabbit->body = NULL;
}

/* No farewell: the broker takes an ended socket as one, and nothing here waits for its answer. */
void rabbit_close(struct rabbit *rabbit)
{
    drop_envelope(rabbit);
    if (rabbit->conn)
        amqp_destroy_connection(rabbit->conn);
    rabbit->conn = NULL;
    rabbit->returned = false;
}

/* Closes the connection, and says what ended it. Always false. */
static bool lose(struct rabbit *rabbit, const char *doing, const char *why)
{
    rabbit_close(rabbit);
    return error_set(&rabbit->error, ERROR_UNAVAILABLE, "%s: %s", doing, why);
}

static struct timeval time_left(int64_t until_us)
{
    int64_t left_us = until_us - clock_mono_us();

    if (left_us < 0)
        left_us = 0;
    return (struct timeval){.tv_sec = (time_t)(left_us / CLOCK_US_PER_S),
                            .tv_usec = (suseconds_t)(left_us % CLOCK_US_PER_S)};
}

/* The broker's own words, where it had any. */
static bool check_reply(struct rabbit *rabbit, amqp_rpc_reply_t reply, const char *doing)
{
    char text[128];

    if (reply.reply_type == AMQP_RESPONSE_NORMAL)
        return true;
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION)
        return lose(rabbit, doing, amqp_error_string2(reply.library_error));
    if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION)
        return lose(rabbit, doing, "no answer");
    const amqp_channel_close_t *channel = reply.reply.decoded;
    const amqp_connection_close_t *connection = reply.reply.decoded;
    amqp_bytes_t said = {0, NULL};
    if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD)
        said = channel->reply_text;
    else if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD)
        said = connection->reply_text;
    size_t length = said.len < sizeof text - 1 ? said.len : sizeof text - 1;
    if (length > 0)
        memcpy(text, said.bytes, length);
    text[length] = '\0';
    return lose(rabbit, doing, text);
}

/* A broker has to prove that it is the host that its URL names. NULL: the CAs cannot be read. */
static amqp_socket_t *make_socket(struct rabbit *rabbit, bool tls)
{
    const char *ca = rabbit->broker->ca;

    if (!tls)
        return amqp_tcp_socket_new(rabbit->conn);
    amqp_socket_t *socket = amqp_ssl_socket_new(rabbit->conn);
    if (!socket)
        return NULL;
    if (*ca)
        return amqp_ssl_socket_set_cacert(socket, ca) == AMQP_STATUS_OK ? socket : NULL;
    return SSL_CTX_set_default_verify_paths(amqp_ssl_socket_get_context(socket)) == 1 ? socket
                                                                                      : NULL;
}

static bool open_socket(struct rabbit *rabbit, const struct amqp_connection_info *info,
                        int64_t until_us)
{
    struct resolved found = {.count = 1};
    struct timeval left;
    struct error error;

    if (!resolver_is_numeric(info->host, found.addresses[0]) &&
        !resolver_ask(rabbit->broker->resolver, info->host, until_us, NULL, &found, &error))
        return lose(rabbit, "RabbitMQ", error.text);
    rabbit->conn = amqp_new_connection();
    amqp_socket_t *socket = rabbit->conn ? make_socket(rabbit, info->ssl) : NULL;
    if (!socket)
        return lose(rabbit, "RabbitMQ", "out of memory, or of CAs (--amqp-ca)");
    int status = AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED;
    int count = info->ssl ? 1 : found.count; /* a certificate is for the name */
    for (int i = 0; i < count && status != AMQP_STATUS_OK; i++) {
        int64_t now_us = clock_mono_us();
        left = time_left(now_us + (until_us - now_us) / (count - i));
        status = amqp_socket_open_noblock(socket, info->ssl ? info->host : found.addresses[i],
                                          info->port, &left);
    }
    if (status != AMQP_STATUS_OK)
        return lose(rabbit, "RabbitMQ", amqp_error_string2(status));
    left = time_left(until_us);
    amqp_set_handshake_timeout(rabbit->conn, &left);
    return true;
}

static amqp_table_entry_t flag_entry(const char *key)
{
    return (amqp_table_entry_t){amqp_cstring_bytes(key),
                                {.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1}};
}

/* Without the first the broker ends a consumer in silence when its queue is deleted; without the
 * other it stops reading in silence when it is in alarm. */
static amqp_rpc_reply_t log_in(struct rabbit *rabbit, const struct amqp_connection_info *info)
{
    amqp_table_entry_t can[] = {flag_entry("consumer_cancel_notify"),
                                flag_entry("connection.blocked")};
    amqp_table_entry_t capabilities = {amqp_cstring_bytes("capabilities"),
                                       {.kind = AMQP_FIELD_KIND_TABLE, .value.table = {2, can}}};
    amqp_table_t properties = {1, &capabilities};

    return amqp_login_with_properties(rabbit->conn, info->vhost, 0, FRAME_BYTES, HEARTBEAT_S,
                                      &properties, AMQP_SASL_METHOD_PLAIN, info->user,
                                      info->password);
}

static bool open_channels(struct rabbit *rabbit, const struct amqp_connection_info *info)
{
    struct timeval timeout = {.tv_sec = CALL_TIMEOUT_US / CLOCK_US_PER_S};

    if (!check_reply(rabbit, log_in(rabbit, info), "RabbitMQ's login"))
        return false;
    amqp_set_rpc_timeout(rabbit->conn, &timeout);
    amqp_channel_open(rabbit->conn, CHANNEL);
    if (!check_reply(rabbit, amqp_get_rpc_reply(rabbit->conn), "RabbitMQ's channel"))
        return false;
    amqp_channel_open(rabbit->conn, CONFIRMED);
    if (!check_reply(rabbit, amqp_get_rpc_reply(rabbit->conn), "RabbitMQ's channel"))
        return false;
    amqp_confirm_select(rabbit->conn, CONFIRMED);
    return check_reply(rabbit, amqp_get_rpc_reply(rabbit->conn), "RabbitMQ's confirms");
}

/* Takes in heartbeats; a frame that nobody asked for is the broker's farewell. */
static bool lives(struct rabbit *rabbit)
{
    struct timeval now = {0, 0};
    amqp_frame_t frame;

    if (!rabbit->conn)
        return false;
    if (amqp_simple_wait_frame_noblock(rabbit->conn, &frame, &now) == AMQP_STATUS_TIMEOUT)
        return true;
    return lose(rabbit, "RabbitMQ", "the connection was closed");
}

/* The node that was reached last is tried first; each has its share of the time. */
static bool open_some_node(struct rabbit *rabbit, int64_t until_us)
{
    struct broker *broker = rabbit->broker;
    int first = atomic_load(&broker->reached);

    for (int i = 0; i < broker->count; i++) {
        int node = (first + i) % broker->count;
        int64_t now_us = clock_mono_us();
        int64_t share_us = now_us + (until_us - now_us) / (broker->count - i);
        if (open_socket(rabbit, &broker->nodes[node], share_us) &&
            open_channels(rabbit, &broker->nodes[node])) {
            atomic_store(&broker->reached, node);
            return true;
        }
    }
    return false;
}

bool rabbit_connect(struct rabbit *rabbit, int64_t until_us)
{
    struct broker *broker = rabbit->broker;

    if (lives(rabbit))
        return true;
    if (breaker_is_open(&broker->breaker))
        return rabbit->error.text[0] == '\0' /* else it says more already */
                   ? error_set(&rabbit->error, ERROR_UNAVAILABLE, "RabbitMQ is out of reach")
                   : false;
    int64_t begun_us = clock_mono_us();
    bool open = open_some_node(rabbit, until_us);
    if (open)
        breaker_close(&broker->breaker);
    if (open || breaker_trip(&broker->breaker, begun_us, until_us, PROOF_US))
        broker_note_connect(broker, open ? NULL : &rabbit->error);
    return open;
}

static amqp_table_entry_t text_entry(const char *key, const char *value)
{
    return (amqp_table_entry_t){
        amqp_cstring_bytes(key),
        {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes(value)}};
}

static amqp_table_entry_t number_entry(const char *key, int32_t value)
{
    return (amqp_table_entry_t){amqp_cstring_bytes(key),
                                {.kind = AMQP_FIELD_KIND_I32, .value.i32 = value}};
}

/* The major version that the broker names; 0: none. */
static int version(struct rabbit *rabbit)
{
    const amqp_table_t *properties = amqp_get_server_properties(rabbit->conn);

    for (int i = 0; i < properties->num_entries; i++) {
        const amqp_table_entry_t *entry = &properties->entries[i];
        if (entry->key.len == 7 && memcmp(entry->key.bytes, "version", 7) == 0 &&
            entry->value.kind == AMQP_FIELD_KIND_UTF8 && entry->value.value.bytes.len > 0)
            return *(const char *)entry->value.value.bytes.bytes - '0';
    }
    return 0;
}

static bool is_inequivalent(amqp_rpc_reply_t reply)
{
    const amqp_channel_close_t *channel = reply.reply.decoded;

    return reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION &&
           reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD &&
           channel->reply_code == AMQP_PRECONDITION_FAILED;
}

static amqp_rpc_reply_t declare(struct rabbit *rabbit, const char *queue, amqp_table_t arguments)
{
    amqp_channel_open(rabbit->conn, DECLARES);
    amqp_rpc_reply_t opened = amqp_get_rpc_reply(rabbit->conn);
    if (opened.reply_type != AMQP_RESPONSE_NORMAL)
        return opened;
    amqp_queue_declare(rabbit->conn, DECLARES, amqp_cstring_bytes(queue), 0, 1, 0, 0, arguments);
    return amqp_get_rpc_reply(rabbit->conn);
}

bool rabbit_declare(struct rabbit *rabbit, enum rabbit_kind kind, const char *queue)
{
    /* From version 4 on a message is dropped that was delivered 20 times and not acknowledged, as
     * an outage of PostgreSQL's makes it: unless the queue was made with the last of these, which
     * version 3 would take for 0. */
    amqp_table_entry_t work[] = {
        text_entry("x-queue-type", "quorum"),
        flag_entry("x-single-active-consumer"),
        number_entry("x-delivery-limit", -1),
    };
    amqp_table_entry_t replies[] = {
        number_entry("x-expires", REPLIES_EXPIRE_MS),
        number_entry("x-max-length", REPLIES_MOST),
    };

    if (!rabbit->conn)
        return false;
    bool endless = kind == RABBIT_WORK && version(rabbit) >= 4;
    amqp_table_t table = {endless ? 3 : 2, kind == RABBIT_WORK ? work : replies};
    amqp_rpc_reply_t declared = declare(rabbit, queue, table);
    if (endless && is_inequivalent(declared)) { /* one that was made without it serves, too */
        amqp_channel_close_ok_t ok;
        amqp_send_method(rabbit->conn, DECLARES, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
        table.num_entries = 2;
        declared = declare(rabbit, queue, table);
    }
    return check_reply(rabbit, declared, queue) &&
           check_reply(rabbit, amqp_channel_close(rabbit->conn, DECLARES, AMQP_REPLY_SUCCESS),
                       queue);
}

static bool consume(struct rabbit *rabbit, enum rabbit_kind kind, const char *queue)
{
    if (kind == RABBIT_WORK) {
        amqp_basic_qos(rabbit->conn, CHANNEL, 0, PREFETCH, 0);
        if (!check_reply(rabbit, amqp_get_rpc_reply(rabbit->conn), queue))
            return false;
    }
    amqp_basic_consume(rabbit->conn, CHANNEL, amqp_cstring_bytes(queue), amqp_empty_bytes, 0,
                       kind == RABBIT_REPLIES, 0, amqp_empty_table);
    return check_reply(rabbit, amqp_get_rpc_reply(rabbit->conn), queue);
}

bool rabbit_consume(struct rabbit *rabbit, enum rabbit_kind kind, const char *queue)
{
    bool consumes = rabbit_declare(rabbit, kind, queue) && consume(rabbit, kind, queue);

    broker_note_queues(rabbit->broker, rabbit, consumes ? NULL : &rabbit->error);
    return consumes;
}

static bool fill(struct rabbit *rabbit, struct rabbit_message *out)
{
    const amqp_message_t *message = &rabbit->envelope.message;
    const amqp_bytes_t *reply_to = &message->properties.reply_to;

    rabbit->body = malloc(message->body.len + 1);
    if (!rabbit->body)
        return lose(rabbit, "RabbitMQ", "out of memory");
    if (message->body.len > 0)
        memcpy(rabbit->body, message->body.bytes, message->body.len);
    rabbit->body[message->body.len] = '\0';
    *out = (struct rabbit_message){.body = rabbit->body,
                                   .length = message->body.len,
                                   .tag = rabbit->envelope.delivery_tag,
                                   .again = rabbit->envelope.redelivered};
    if ((message->properties._flags & AMQP_BASIC_REPLY_TO_FLAG) && reply_to->len <= RABBIT_NAME_MAX)
        memcpy(out->reply_to, reply_to->bytes, reply_to->len);
    return true;
}

/* A reply whose queue is gone: its instance has ended, or makes the queue again. */
static bool drop_returned(struct rabbit *rabbit, const amqp_basic_return_t *returned)
{
    amqp_message_t message;
    int length = (int)returned->routing_key.len;

    if (!rabbit->returned)
        log_warn("partitioned-queue: there is no queue %.*s: replies are lost", length,
                 (const char *)returned->routing_key.bytes);
    rabbit->returned = true;
    if (amqp_read_message(rabbit->conn, CHANNEL, &message, 0).reply_type != AMQP_RESPONSE_NORMAL)
        return false;
    amqp_destroy_message(&message);
    return true;
}

/* Takes in what came in place of a message. False: it ends the consuming. */
static bool take_other(struct rabbit *rabbit)
{
    struct timeval now = {0, 0};
    amqp_frame_t frame;

    if (amqp_simple_wait_frame_noblock(rabbit->conn, &frame, &now) != AMQP_STATUS_OK ||
        frame.frame_type != AMQP_FRAME_METHOD)
        return false;
    if (frame.payload.method.id == AMQP_BASIC_RETURN_METHOD)
        return drop_returned(rabbit, frame.payload.method.decoded);
    return frame.payload.method.id == AMQP_CONNECTION_BLOCKED_METHOD ||
           frame.payload.method.id == AMQP_CONNECTION_UNBLOCKED_METHOD;
}

enum rabbit_result rabbit_receive(struct rabbit *rabbit, int64_t until_us,
                                  struct rabbit_message *out)
{
    struct timeval left = time_left(until_us);

    if (!rabbit->conn)
        return RABBIT_LOST;
    drop_envelope(rabbit);
    amqp_maybe_release_buffers(rabbit->conn);
    amqp_rpc_reply_t reply = amqp_consume_message(rabbit->conn, &rabbit->envelope, &left, 0);
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION &&
        (reply.library_error == AMQP_STATUS_TIMEOUT ||
         (reply.library_error == AMQP_STATUS_UNEXPECTED_STATE && take_other(rabbit))))
        return RABBIT_NOTHING;
    if (!check_reply(rabbit, reply, "RabbitMQ's deliveries"))
        return RABBIT_LOST;
    rabbit->has_envelope = true;
    return fill(rabbit, out) ? RABBIT_GOT : RABBIT_LOST;
}

bool rabbit_ack(struct rabbit *rabbit, uint64_t tag, bool those_before)
{
    if (!rabbit->conn)
        return false;
    int status = amqp_basic_ack(rabbit->conn, CHANNEL, tag, those_before);
    return status == AMQP_STATUS_OK ||
           lose(rabbit, "RabbitMQ's acknowledgement", amqp_error_string2(status));
}

static bool put(struct rabbit *rabbit, amqp_channel_t channel, const char *queue,
                const amqp_basic_properties_t *properties, const char *body, size_t length)
{
    if (!rabbit->conn)
        return false;
    /* The library takes void * and changes nothing. */
    amqp_bytes_t bytes = {length, NULL};
    memcpy(&bytes.bytes, &body, sizeof body);
    int status =
        amqp_basic_publish(rabbit->conn, channel, amqp_empty_bytes, amqp_cstring_bytes(queue),
                           *queue != '\0', 0, properties, bytes);

    return status == AMQP_STATUS_OK || lose(rabbit, queue, amqp_error_string2(status));
}

static void note_blocked(struct broker *broker, const amqp_connection_blocked_t *blocked)
{
    struct error alarm;

    error_set(&alarm, ERROR_UNAVAILABLE, "RabbitMQ is in alarm and takes no messages: %.*s",
              (int)blocked->reason.len, (const char *)blocked->reason.bytes);
    broker_set_alarm(broker, &alarm);
}

/* Waits for the broker's word about the one message under way. */
static bool wait_confirm(struct rabbit *rabbit, const char *queue, int64_t until_us)
{
    amqp_frame_t frame;

    for (;;) {
        struct timeval left = time_left(until_us);
        amqp_maybe_release_buffers(rabbit->conn);
        int status = amqp_simple_wait_frame_noblock(rabbit->conn, &frame, &left);
        if (status != AMQP_STATUS_OK)
            return lose(rabbit, queue, amqp_error_string2(status));
        if (frame.frame_type != AMQP_FRAME_METHOD)
            continue;
        switch (frame.payload.method.id) {
        case AMQP_BASIC_ACK_METHOD:
            return true;
        case AMQP_CONNECTION_BLOCKED_METHOD:
            note_blocked(rabbit->broker, frame.payload.method.decoded);
            return lose(rabbit, queue, "the broker takes no messages");
        case AMQP_BASIC_RETURN_METHOD:
            rabbit->unrouted = true;
            return lose(rabbit, queue, "there is no such queue");
        case AMQP_BASIC_NACK_METHOD:
            return lose(rabbit, queue, "the broker refused a message");
        default:
            return lose(rabbit, queue, "the broker closed the channel");
        }
    }
}

bool rabbit_publish(struct rabbit *rabbit, const char *queue, const char *reply_to,
                    const char *body, size_t length, int64_t until_us)
{
    enum { PERSISTENT = 2 };
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | (*reply_to ? AMQP_BASIC_REPLY_TO_FLAG : 0),
        .delivery_mode = PERSISTENT,
        .reply_to = amqp_cstring_bytes(reply_to),
    };

    rabbit->unrouted = false;
    return put(rabbit, CONFIRMED, queue, &properties, body, length) &&
           wait_confirm(rabbit, queue, until_us);
}

bool rabbit_was_unrouted(const struct rabbit *rabbit)
{
    return rabbit->unrouted;
}

bool rabbit_send(struct rabbit *rabbit, const char *queue, const char *body, size_t length)
{
    amqp_basic_properties_t properties = {._flags = 0};

    return put(rabbit, CHANNEL, queue, &properties, body, length);
}

static void rabbit_probe(void *session, int node, const struct settings *settings, int64_t until_us)
{
    static const struct error none = {ERROR_NONE, ""};
    struct rabbit *rabbit = session;

    (void)node;
    (void)settings;
    if (rabbit_connect(rabbit, until_us) && rabbit_publish(rabbit, "", "", "", 0, until_us))
        broker_set_alarm(rabbit->broker, &none);
}

const struct backend backend_rabbitmq = {
    .name = "rabbitmq",
    .absent = "RabbitMQ is not configured (--amqp)",
    .open = broker_open,
    .close = broker_close,
    .session_open = rabbit_open,
    .session_close = rabbit_end,
    .connect = rabbit_make_sure,
    .up = broker_up,
    .health = broker_health,
    .probe = rabbit_probe,
};
