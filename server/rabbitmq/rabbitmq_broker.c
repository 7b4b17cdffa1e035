/* See rabbitmq_broker.h. */
#include "rabbitmq/rabbitmq_broker.h"

#include "base/log.h"

#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

void broker_close(void *backend)
{
    struct broker *broker = backend;

    resolver_destroy(broker->resolver);
    pthread_mutex_destroy(&broker->state.mutex);
    free(broker->urls);
    free(broker->ca);
    free(broker);
}

/* False: one of the URLs is none, or there are too many. */
static bool read_nodes(struct broker *broker)
{
    for (char *next = broker->urls; next;) {
        char *url = strsep(&next, ",");
        struct amqp_connection_info *node = &broker->nodes[broker->count];
        if (broker->count == BROKER_NODES_MAX)
            return false;
        amqp_default_connection_info(node);
        if (amqp_parse_url(url, node) != AMQP_STATUS_OK)
            return false;
        /* To the library a slash with nothing behind it is a vhost without a name. */
        if (!node->vhost[0]) {
            static char root[] = "/";
            node->vhost = root;
        }
        broker->count++;
    }
    return true;
}

static bool has_certificates(const char *file)
{
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    bool has = tls && SSL_CTX_load_verify_locations(tls, file, NULL) == 1;

    SSL_CTX_free(tls);
    return has;
}

void *broker_open(const struct settings *settings, struct error *error)
{
    if (!settings->amqp[0])
        return NULL;
    struct broker *broker = calloc(1, sizeof *broker);

    if (broker) {
        pthread_mutex_init(&broker->state.mutex, NULL);
        broker->urls = strdup(settings->amqp);
        broker->ca = strdup(settings->amqp_ca);
        broker->resolver = resolver_create();
    }
    if (!broker || !broker->urls || !broker->ca || !broker->resolver) {
        if (broker)
            broker_close(broker);
        error_set(error, ERROR_INTERNAL, "out of memory");
        return NULL;
    }
    if (!read_nodes(broker)) {
        broker_close(broker);
        error_set(error, ERROR_INVALID,
                  "--amqp takes amqp[s]://USER:PASSWORD@HOST:PORT/VHOST, up to %d with commas "
                  "between",
                  BROKER_NODES_MAX);
        return NULL;
    }
    if (broker->ca[0] && !has_certificates(broker->ca)) {
        error_set(error, ERROR_INVALID, "\"%s\" has no certificates, or cannot be read (--amqp-ca)",
                  broker->ca);
        broker_close(broker);
        return NULL;
    }
    return broker;
}

/* A copy of what its mutex guards. */
static struct error look(struct broker *broker, const struct error *at)
{
    pthread_mutex_lock(&broker->state.mutex);
    struct error found = *at;
    pthread_mutex_unlock(&broker->state.mutex);
    return found;
}

void broker_note_connect(struct broker *broker, const struct error *error)
{
    pthread_mutex_lock(&broker->state.mutex);
    broker->state.absence = error ? *error : (struct error){ERROR_NONE, ""};
    pthread_mutex_unlock(&broker->state.mutex);
    atomic_store(&broker->up, error == NULL);
}

struct error broker_alarm(struct broker *broker)
{
    return look(broker, &broker->state.alarm);
}

void broker_set_alarm(struct broker *broker, const struct error *alarm)
{
    pthread_mutex_lock(&broker->state.mutex);
    bool changed = broker->state.alarm.code != alarm->code;
    broker->state.alarm = *alarm;
    pthread_mutex_unlock(&broker->state.mutex);
    if (changed && alarm->code != ERROR_NONE)
        log_warn("%s (--amqp)", alarm->text);
    else if (changed)
        log_info("RabbitMQ takes messages again");
}

static bool is_reached(const struct broker *broker)
{
    return atomic_load_explicit(&broker->up, memory_order_relaxed);
}

bool broker_up(void *backend)
{
    struct broker *broker = backend;

    return is_reached(broker) && broker_alarm(broker).code == ERROR_NONE;
}

void broker_health(void *backend, backend_report *report, void *to)
{
    struct broker *broker = backend;
    struct error alarm = broker_alarm(broker);
    struct error trouble = look(broker, &broker->state.trouble);
    struct error absence = look(broker, &broker->state.absence);

    if (absence.code != ERROR_NONE)
        error_prefix(&absence, "out of reach");
    report(to, "rabbitmq", broker_up(broker),
           absence.code != ERROR_NONE   ? absence.text
           : !is_reached(broker)        ? "out of reach"
           : alarm.code != ERROR_NONE   ? alarm.text
           : trouble.code != ERROR_NONE ? trouble.text
                                        : "");
}

void broker_note_queues(struct broker *broker, const void *who, const struct error *error)
{
    pthread_mutex_lock(&broker->state.mutex);
    if (error && !broker->state.troubled) {
        broker->state.troubled = who;
        broker->state.trouble = *error;
    } else if (!error && broker->state.troubled == who) {
        broker->state.troubled = NULL;
        broker->state.trouble.code = ERROR_NONE;
    }
    pthread_mutex_unlock(&broker->state.mutex);
}
