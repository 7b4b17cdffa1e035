/*
 * The broker, as all sessions of it see it: where its nodes are, and what is wrong with it.
 *
 * A broker in alarm (memory, disk) stops reading from its publishers, and says so. The probe asks
 * by a message that belongs to no queue; while there is an alarm nobody may begin to sell through
 * it.
 */
#ifndef SECKILL_RABBITMQ_RABBITMQ_BROKER_H
#define SECKILL_RABBITMQ_RABBITMQ_BROKER_H

#include "backend/backend.h"
#include "base/connect/breaker.h"
#include "base/connect/resolver.h"

/* librabbitmq 0.12 moved its headers into a folder and warns about the old place. */
#if __has_include(<rabbitmq-c/amqp.h>)
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/ssl_socket.h>
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#endif

#include <pthread.h>
#include <stdatomic.h>

enum { BROKER_NODES_MAX = 8 };

struct broker {
    char *urls; /* owned: cut into pieces, `nodes` point into it */
    struct amqp_connection_info nodes[BROKER_NODES_MAX];
    int count;
    char *ca;                  /* owned: a file for amqps://; "" the system's */
    atomic_int reached;        /* which node the last connect was to: it is tried first */
    struct resolver *resolver; /* owned */
    atomic_bool up;
    struct breaker breaker;
    struct {
        pthread_mutex_t mutex;
        struct error absence; /* why the last connect failed; ERROR_NONE: it did not */
        struct error alarm;   /* why it takes no messages; ERROR_NONE: it does */
        struct error trouble; /* with a queue that is to be consumed; ERROR_NONE: none */
        const void *troubled; /* borrowed: whose trouble it is */
    } state;
};

/* As the table of backends has them (backend/backend.h). */
void *broker_open(const struct settings *settings, struct error *error);
void broker_close(void *broker);
bool broker_up(void *broker); /* the last connect succeeded, and messages are taken */
void broker_health(void *broker, backend_report *report, void *to);

/* The last connect succeeded (NULL), or this is why not. */
void broker_note_connect(struct broker *broker, const struct error *error);
/* Why it takes no messages; ERROR_NONE: it does, or nobody has asked it yet. */
struct error broker_alarm(struct broker *broker);
void broker_set_alarm(struct broker *broker, const struct error *alarm);
/* Session `who` has the queues that it wants to consume (NULL), or this is why not. */
void broker_note_queues(struct broker *broker, const void *who, const struct error *error);

#endif
