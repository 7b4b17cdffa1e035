/* See recorder.h. One thread and one epoll. Each turn first writes down what every free connection
 * is about to send, hands that to the kernel, and only then sends it. */
#include "loadtest/ledger/recorder.h"

#include "loadtest/base/process.h"
#include "loadtest/engine/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    EVENTS_MAX = 256,
    TURN_MS = 5,
    REST_US = 50000,
    ANSWER_LIMIT_US = 70000000 /* longer than any order may take: 60 s of waiting, then its work */
};

/* A connection, and the operation that it carries or is about to. */
struct slot {
    struct client client; /* the first: an event names it, and so the slot */
    struct ledger_op op;
    bool busy, begun; /* begun: written down, and not sent yet */
    int64_t rest_until_us, due_us;
};

struct recorder {
    const struct recorder_plan *plan; /* borrowed, as the two below */
    struct json_lines *writer;
    struct recorder_result *result;
    int epoll_fd;
    struct client_target targets[RECORDER_TARGETS_MAX];
    struct slot *slots; /* owned */
    size_t count, busy;
    struct mix *mix; /* owned */
    int64_t until_us;
};

/* The operation is over, and has its result. */
static void end(struct recorder *recorder, struct slot *slot)
{
    int64_t now_us = clock_mono_us();
    slot->op.end_us = now_us;
    ledger_write_end(recorder->writer, &slot->op);
    mix_learn(recorder->mix, now_us, &slot->op);
    recorder->result->answered += slot->op.status != 0;
    free(slot->op.key);
    slot->op.key = NULL;
    slot->busy = false;
    recorder->busy--;
    if (slot->op.status == 0)
        slot->rest_until_us = now_us + REST_US;
}

static void end_answered(struct recorder *recorder, struct slot *slot, const struct answer *answer)
{
    exchange_read(&slot->op, answer);
    end(recorder, slot);
}

/* `sent`: it may have reached the server whole. */
static void end_unanswered(struct recorder *recorder, struct slot *slot, bool sent)
{
    exchange_lose(&slot->op, sent);
    end(recorder, slot);
}

static bool is_over(const struct recorder *recorder, int64_t now_us)
{
    int64_t most = recorder->plan->operations;
    return now_us >= recorder->until_us || (most && recorder->result->operations >= most);
}

/* Writes down what the free connections do next. False: the ledger cannot be written. */
static bool begin_all(struct recorder *recorder, struct error *error)
{
    size_t begun = 0;
    for (size_t i = 0; i < recorder->count; i++) {
        struct slot *slot = &recorder->slots[i];
        int64_t now_us = clock_mono_us();
        if (slot->busy || slot->rest_until_us > now_us)
            continue;
        if (!mix_next(recorder->mix, now_us, is_over(recorder, now_us), &slot->op))
            break;
        slot->op.number = ++recorder->result->operations;
        slot->op.start_us = now_us;
        slot->busy = slot->begun = true;
        recorder->busy++;
        begun++;
        ledger_write_begin(recorder->writer, &slot->op);
    }
    return begun == 0 || json_lines_flush(recorder->writer, error);
}

static void send_all(struct recorder *recorder)
{
    for (size_t i = 0; i < recorder->count; i++) {
        struct slot *slot = &recorder->slots[i];
        struct http_request asked;
        char request[REQUEST_BYTES];
        if (!slot->begun)
            continue;
        slot->begun = false;
        slot->due_us = clock_mono_us() + ANSWER_LIMIT_US;
        exchange_ask(&recorder->plan->exchange, &slot->op, &asked);
        size_t length = http_request_write(&asked, slot->client.target->authority, request);
        if (!client_send(&slot->client, recorder->epoll_fd, request, length))
            end_unanswered(recorder, slot, false);
    }
}

static void take_events(struct recorder *recorder)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(recorder->epoll_fd, events, EVENTS_MAX, TURN_MS);
    for (int i = 0; i < count; i++) {
        struct slot *slot = events[i].data.ptr;
        struct answer answer;
        bool sent = slot->client.state == CLIENT_BUSY;
        enum client_event event = client_turn(&slot->client, recorder->epoll_fd, &answer);
        if (event == CLIENT_ANSWERS)
            end_answered(recorder, slot, &answer);
        else if (event == CLIENT_FAILS)
            end_unanswered(recorder, slot, sent);
    }
}

static void drop_late(struct recorder *recorder)
{
    int64_t now_us = clock_mono_us();
    for (size_t i = 0; i < recorder->count; i++) {
        struct slot *slot = &recorder->slots[i];
        if (!slot->busy || slot->due_us > now_us)
            continue;
        client_close(&slot->client);
        end_unanswered(recorder, slot, true);
    }
}

/* Until the time is over, nothing is under way, and nothing accepted is left to be read. */
static bool drive(struct recorder *recorder, struct error *error)
{
    int64_t now_us = clock_mono_us();
    int64_t give_up_us = now_us + recorder->plan->duration_us + recorder->plan->settle_us;
    recorder->until_us = now_us + recorder->plan->duration_us;
    while (!is_over(recorder, now_us) || recorder->busy > 0 ||
           (mix_waiting(recorder->mix) > 0 && now_us < give_up_us)) {
        if (process_interrupted())
            return error_fail(error, "interrupted");
        if (now_us < give_up_us && !begin_all(recorder, error))
            return false;
        send_all(recorder);
        take_events(recorder);
        drop_late(recorder);
        now_us = clock_mono_us();
    }
    recorder->result->undecided = mix_waiting(recorder->mix) + mix_forgotten(recorder->mix);
    ledger_write_done(recorder->writer, now_us);
    return json_lines_flush(recorder->writer, error);
}

static bool prepare(struct recorder *recorder, struct error *error)
{
    const struct recorder_plan *plan = recorder->plan;
    if (plan->targets_count == 0 || plan->targets_count > RECORDER_TARGETS_MAX)
        return error_fail(error, "no servers, or more than %d", RECORDER_TARGETS_MAX);
    recorder->mix = mix_create(&plan->mix);
    recorder->slots = calloc((size_t)plan->connections, sizeof *recorder->slots);
    recorder->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (!recorder->mix || !recorder->slots || recorder->epoll_fd < 0)
        return error_fail(error, "no resources for the recorder: %s", strerror(errno));
    if (!client_allow(plan->connections, error))
        return false;
    for (size_t i = 0; i < plan->targets_count; i++) {
        if (!client_resolve(&recorder->targets[i], plan->targets[i], error))
            return false;
    }
    for (; recorder->count < (size_t)plan->connections; recorder->count++) {
        struct client *client = &recorder->slots[recorder->count].client;
        client_init(client, &recorder->targets[recorder->count % plan->targets_count]);
        if (!client_open(client, recorder->epoll_fd, error))
            return false;
    }
    return true;
}

bool recorder_run(const struct recorder_plan *plan, struct json_lines *writer,
                  struct recorder_result *result, struct error *error)
{
    struct recorder recorder = {.plan = plan, .writer = writer, .result = result, .epoll_fd = -1};
    *result = (struct recorder_result){0};
    bool made = prepare(&recorder, error) && drive(&recorder, error);
    for (size_t i = 0; i < recorder.count; i++) {
        client_close(&recorder.slots[i].client);
        free(recorder.slots[i].op.key);
    }
    if (recorder.epoll_fd >= 0)
        close(recorder.epoll_fd);
    free(recorder.slots);
    mix_destroy(recorder.mix);
    return made;
}
