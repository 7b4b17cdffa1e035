/* rabbit.h without a client library: nothing can be made, so nothing else is ever called. */
#include "rabbitmq/rabbit.h"

#include "backend/backend.h"

static const struct error absent = {ERROR_UNSUITABLE, "built without librabbitmq"};

const struct backend backend_rabbitmq = {
    .name = "rabbitmq",
    .absent = "librabbitmq was absent when this server was built (--amqp)",
};

bool rabbit_connect(struct rabbit *rabbit, int64_t until_us)
{
    (void)rabbit;
    (void)until_us;
    return false;
}

void rabbit_close(struct rabbit *rabbit)
{
    (void)rabbit;
}

const struct error *rabbit_error(const struct rabbit *rabbit)
{
    (void)rabbit;
    return &absent;
}

bool rabbit_declare(struct rabbit *rabbit, enum rabbit_kind kind, const char *queue)
{
    (void)rabbit;
    (void)kind;
    (void)queue;
    return false;
}

bool rabbit_consume(struct rabbit *rabbit, enum rabbit_kind kind, const char *queue)
{
    return rabbit_declare(rabbit, kind, queue);
}

enum rabbit_result rabbit_receive(struct rabbit *rabbit, int64_t until_us,
                                  struct rabbit_message *out)
{
    (void)rabbit;
    (void)until_us;
    (void)out;
    return RABBIT_LOST;
}

bool rabbit_ack(struct rabbit *rabbit, uint64_t tag)
{
    (void)rabbit;
    (void)tag;
    return false;
}

bool rabbit_publish(struct rabbit *rabbit, const char *queue, const char *reply_to,
                    const char *body, size_t length, int64_t until_us)
{
    (void)reply_to;
    (void)until_us;
    return rabbit_send(rabbit, queue, body, length);
}

bool rabbit_send(struct rabbit *rabbit, const char *queue, const char *body, size_t length)
{
    (void)rabbit;
    (void)queue;
    (void)body;
    (void)length;
    return false;
}
