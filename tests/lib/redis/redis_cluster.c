#include "lib/t.h"

#include "lib/redis/redis_cluster.h"

#include "lib/redis/redis_probe.h"
#include "lib/stack.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 6, KEYS_A_TIME = 100, ID_SIZE = 64 };

/* The reply, which is no error. */
static redisReply *ask(int port, const char *format, va_list values)
{
    redisContext *context = redis_probe_dial(t_text("redis://127.0.0.1:%d", port));
    redisReply *reply = redisvCommand(context, format, values);

    if (!reply) {
        fail_msg("%d: %s: %s", port, format, context->errstr);
        abort(); /* fail_msg has left already, which no analyzer knows */
    }
    redisFree(context);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%d: %s: %s", port, format, reply->str);
    return reply;
}

__attribute__((format(printf, 2, 3))) static redisReply *call(int port, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    redisReply *reply = ask(port, format, values);
    va_end(values);
    return reply;
}

const char *cluster_tell(int port, const char *format, ...)
{
    static _Thread_local char text[8192];
    va_list values;

    va_start(values, format);
    redisReply *reply = ask(port, format, values);
    va_end(values);
    const redisReply *last = reply->type == REDIS_REPLY_ARRAY && reply->elements > 0
                                 ? reply->element[reply->elements - 1]
                                 : reply;
    if (last->type == REDIS_REPLY_INTEGER)
        snprintf(text, sizeof text, "%lld", last->integer);
    else
        snprintf(text, sizeof text, "%s", last->str ? last->str : "");
    freeReplyObject(reply);
    return text;
}

/* A frozen one lets itself be connected to. */
static bool lives(int port)
{
    static const struct timeval patience = {2, 0};
    redisContext *context = redisConnectWithTimeout("127.0.0.1", port, patience);

    assert_non_null(context);
    redisReply *pong = NULL;
    if (!context->err && redisSetTimeout(context, patience) == REDIS_OK)
        pong = redisCommand(context, "PING");
    bool answers = pong != NULL;
    freeReplyObject(pong);
    redisFree(context);
    return answers;
}

/* Of the i-th node, from 1. */
static int port_of(int i)
{
    FILE *from = t_open(t_text("%s/cluster.access", getenv("SECKILL_TEST_STACK")));
    int port = 0;

    for (int k = 0; k < i; k++)
        assert_int_equal(fscanf(from, "%*s %d %*d", &port), 1);
    fclose(from);
    return port;
}

/* Of any node that lives. */
static int any_port(void)
{
    for (int i = 1; i <= NODES; i++)
        if (lives(port_of(i)))
            return port_of(i);
    fail_msg("no node of the cluster lives");
    return 0;
}

int cluster_keyslot(const char *key)
{
    redisReply *reply = call(any_port(), "CLUSTER KEYSLOT %s", key);
    int slot = (int)reply->integer;

    freeReplyObject(reply);
    return slot;
}

/* Every node tells the same, or soon will: they gossip. */
static int owner_by(int port, int slot)
{
    redisReply *reply = call(port, "CLUSTER SLOTS");
    int owner = 0;

    for (size_t i = 0; i < reply->elements; i++)
        if (reply->element[i]->element[0]->integer <= slot &&
            slot <= reply->element[i]->element[1]->integer)
            owner = (int)reply->element[i]->element[2]->element[1]->integer;
    freeReplyObject(reply);
    return owner;
}

int cluster_owner(int slot)
{
    int owner = owner_by(any_port(), slot);

    assert_true(owner != 0);
    return owner;
}

void cluster_primaries(int ports[CLUSTER_PRIMARIES])
{
    int count = 0;

    memset(ports, 0, CLUSTER_PRIMARIES * sizeof *ports);
    for (int slot = 0; slot < 16384 && count < CLUSTER_PRIMARIES; slot += 100) {
        int owner = cluster_owner(slot);
        bool known = false;
        for (int i = 0; i < count; i++)
            known |= ports[i] == owner;
        if (!known)
            ports[count++] = owner;
    }
    assert_int_equal(count, CLUSTER_PRIMARIES);
}

int cluster_other(int port)
{
    int ports[CLUSTER_PRIMARIES];

    cluster_primaries(ports);
    return ports[ports[0] == port];
}

static const char *id_of(int port)
{
    return t_text("%s", cluster_tell(port, "CLUSTER MYID"));
}

void cluster_begin_move(int slot, int from, int to)
{
    cluster_tell(to, "CLUSTER SETSLOT %d IMPORTING %s", slot, id_of(from));
    cluster_tell(from, "CLUSTER SETSLOT %d MIGRATING %s", slot, id_of(to));
}

bool cluster_move_some(int slot, int from, int to, const char *but)
{
    redisReply *keys = call(from, "CLUSTER GETKEYSINSLOT %d %d", slot, KEYS_A_TIME);
    bool some = false;

    for (size_t i = 0; i < keys->elements; i++) {
        const char *key = keys->element[i]->str;
        if (but && strstr(key, but))
            continue;
        some = true;
        cluster_tell(from, "MIGRATE 127.0.0.1 %d %s 0 5000", to, key);
    }
    freeReplyObject(keys);
    return some;
}

void cluster_end_move(int slot, int from, int to)
{
    int ports[CLUSTER_PRIMARIES];

    while (cluster_move_some(slot, from, to, NULL))
        ;
    cluster_tell(to, "CLUSTER SETSLOT %d NODE %s", slot, id_of(to));
    cluster_tell(from, "CLUSTER SETSLOT %d NODE %s", slot, id_of(to));
    /* Many calls, after the slot has its owner: until then its clients try again. */
    cluster_primaries(ports);
    for (int i = 0; i < CLUSTER_PRIMARIES; i++)
        if (ports[i] != from && ports[i] != to)
            cluster_tell(ports[i], "CLUSTER SETSLOT %d NODE %s", slot, id_of(to));
}

/* The line of a node itself has "[SLOT->-ID]" and "[SLOT-<-ID]". */
void cluster_settle(void)
{
    int ports[CLUSTER_PRIMARIES];

    cluster_primaries(ports);
    for (int i = 0; i < CLUSTER_PRIMARIES; i++) {
        char *nodes = strdup(cluster_tell(ports[i], "CLUSTER NODES"));
        assert_non_null(nodes);
        for (const char *at = nodes; (at = strchr(at, '[')); at++)
            cluster_tell(ports[i], "CLUSTER SETSLOT %d STABLE", (int)strtol(at + 1, NULL, 10));
        free(nodes);
    }
}

void cluster_move(int slot)
{
    int from = cluster_owner(slot);
    int to = cluster_other(from);

    cluster_begin_move(slot, from, to);
    cluster_end_move(slot, from, to);
}

int cluster_seed(void)
{
    return (int)strtol(strrchr(stack_cluster(), ':') + 1, NULL, 10);
}

void cluster_be_patient(int ms)
{
    for (int i = 1; i <= NODES; i++)
        if (lives(port_of(i)))
            cluster_tell(port_of(i), "CONFIG SET cluster-node-timeout %d", ms);
}

void cluster_replace(int slot)
{
    cluster_be_patient(CLUSTER_NODE_TIMEOUT_MS);
    T_UNTIL(lives(cluster_owner(slot)));
}

int cluster_restore(void **state)
{
    assert_int_equal(stack_restore(state), 0);
    if (!strstr(cluster_tell(cluster_seed(), "INFO replication"), "role:master"))
        cluster_tell(cluster_seed(), "CLUSTER FAILOVER");
    T_UNTIL(strstr(cluster_tell(cluster_seed(), "INFO replication"), "role:master"));
    cluster_settle();
    cluster_be_patient(CLUSTER_NODE_TIMEOUT_MS);
    return 0;
}

void cluster_signal(int port, int number)
{
    char name[16];
    const char *info = cluster_tell(port, "INFO server");
    const char *at = strstr(info, "process_id:");
    pid_t pid = at ? (pid_t)strtol(at + strlen("process_id:"), NULL, 10) : 0;

    for (int i = 1; i <= NODES; i++) {
        snprintf(name, sizeof name, "cluster%d", i);
        if (stack_pid(name) == pid) {
            stack_kill(name, number);
            return;
        }
    }
    fail_msg("the node at %d is none of the stack's", port);
}
