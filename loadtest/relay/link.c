/* See link.h. */
#include "loadtest/relay/link.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE_BYTES = 16384, HELD_MAX_BYTES = 1 << 20 };
enum { REQUEST_MARKED = 1, REQUEST_HELD = 2 };

/* The bytes of one read, and when they may go on. */
struct piece {
    struct piece *next; /* owned */
    int64_t due_us;
    size_t length, sent;
    char bytes[];
};

struct link *link_create(int client, int target, enum relay_protocol protocol)
{
    static const struct wire_protocol *const protocols[] = {
        [RELAY_BYTES] = NULL, [RELAY_POSTGRES] = &wire_postgres, [RELAY_REDIS] = &wire_redis};
    struct link *link = calloc(1, sizeof *link);

    if (!link) {
        close(client);
        close(target);
        return NULL;
    }
    link->opened_us = clock_mono_us();
    link->protocol = protocols[protocol];
    link->wire.blind = !link->protocol;
    link->ends[0] = (struct link_end){.link = link, .fd = client};
    link->ends[1] = (struct link_end){.link = link, .fd = target};
    link->flows[0].barrier = link->flows[1].barrier = UINT64_MAX;
    return link;
}

static void drop_first(struct flow *flow)
{
    struct piece *piece = flow->first;

    flow->held -= piece->length;
    flow->first = piece->next;
    if (!flow->first)
        flow->last = NULL;
    free(piece);
}

void link_destroy(struct link *link)
{
    static const struct linger now = {.l_onoff = 1, .l_linger = 0};

    for (int i = 0; i < 2; i++) {
        while (link->flows[i].first)
            drop_first(&link->flows[i]);
        if (link->reset)
            setsockopt(link->ends[i].fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(link->ends[i].fd);
    }
    free(link);
}

void link_release(struct link *link)
{
    if (link->holding)
        link->flows[RELAY_UPSTREAM].barrier = UINT64_MAX;
    link->holding = false;
}

/* Both sides are closed when what stands before the barrier is passed on, and the time has come. */
static void cut_at(struct link *link, struct flow *flow, int64_t at_us)
{
    flow->barrier = flow->whole;
    link->cutting = true;
    link->cut_us = at_us;
}

/* Whether the request of which a message has just ended is what this type waits for. */
static bool is_wanted(const struct link *link, const struct toxics *toxics, enum relay_type type)
{
    const struct toxic *toxic = toxics_on(toxics, type, RELAY_UPSTREAM);

    return toxic && link->protocol->is(&link->wire, toxic->is.what);
}

/* One that is wanted, which is met, once, when it is the nth. */
static bool meet(struct toxics *toxics, enum relay_type type)
{
    struct toxic *both = toxics->of[type];

    if (--both[0].is.nth > 0)
        return false;
    if (both[0].is.then_refuse)
        toxics->of[RELAY_REFUSE][0].on = toxics->of[RELAY_REFUSE][1].on = true;
    both[0].on = both[1].on = false;
    toxics->counts.bitten[type]++;
    return true;
}

/* A message of a request is over; it began where the last one ended. */
static void meet_request(struct link *link, struct toxics *toxics, bool whole, int64_t now_us)
{
    struct flow *flow = &link->flows[RELAY_UPSTREAM];
    bool open = !link->cutting && !link->holding;
    bool marked = is_wanted(link, toxics, RELAY_SWALLOW_REPLY);
    bool loses =
        open && is_wanted(link, toxics, RELAY_LOSE_REQUEST) && meet(toxics, RELAY_LOSE_REQUEST);
    bool holds = open && !loses && is_wanted(link, toxics, RELAY_HOLD_REQUEST) &&
                 meet(toxics, RELAY_HOLD_REQUEST);
    int64_t patience_us = toxics->of[RELAY_HOLD_REQUEST][0].is.amount;

    link->marks |= (marked ? REQUEST_MARKED : 0) | (holds ? REQUEST_HELD : 0);
    if (loses)
        cut_at(link, flow, 0);
    if (holds) {
        flow->barrier = flow->whole;
        link->holding = link->awaited = true;
        link->part_us = patience_us > 0 ? now_us + patience_us : 0;
    }
    if (!whole)
        return;
    link->wire.blind |= link->count == LINK_PENDING_MAX;
    if (!link->wire.blind)
        link->pending[(link->first + link->count++) % LINK_PENDING_MAX] = link->marks;
    link->marks = 0;
}

/* Whether a reply says that what RELAY_SWALLOW_REPLY waits for was done. */
static bool is_done(const struct toxic *toxic, const struct wire_reply *reply, bool marked)
{
    if (strcmp(toxic->is.what, "COMMIT") == 0)
        return reply->committed;
    bool refused = reply->refused && strcasecmp(toxic->is.what, "EVAL") != 0;
    return marked && !reply->failed && !refused;
}

/* The reply to the first request that has none is over. */
static void meet_reply(struct link *link, struct toxics *toxics, int64_t now_us)
{
    const struct toxic *toxic = toxics_on(toxics, RELAY_SWALLOW_REPLY, RELAY_DOWNSTREAM);
    const struct wire_reply reply = link->wire.reply;
    unsigned char marks = link->pending[link->first];

    link->wire.reply = (struct wire_reply){.failed = false};
    link->wire.blind |= link->count == 0; /* a reply that nobody has asked for */
    if (link->wire.blind)
        return;
    link->first = (link->first + 1) % LINK_PENDING_MAX;
    link->count--;
    if (marks & REQUEST_HELD) {
        toxics->counts.answered++;
        link->awaited = false;
    }
    if (toxic && !link->cutting && is_done(toxic, &reply, marks & REQUEST_MARKED) &&
        meet(toxics, RELAY_SWALLOW_REPLY))
        cut_at(link, &link->flows[RELAY_DOWNSTREAM], now_us + toxic->is.amount);
}

/* Reads what has come as the protocol has it. */
static void follow(struct link *link, struct toxics *toxics, enum relay_stream stream,
                   const struct piece *piece, int64_t now_us)
{
    struct flow *flow = &link->flows[stream];
    size_t at = 0;

    while (at < piece->length && !link->wire.blind) {
        enum wire_end end = WIRE_NOTHING;
        at +=
            link->protocol->feed(&link->wire, stream, piece->bytes + at, piece->length - at, &end);
        bool is_part = end == WIRE_PART && stream == RELAY_DOWNSTREAM && link->count > 0;
        if (end == WIRE_REPLY)
            meet_reply(link, toxics, now_us);
        else if (end == WIRE_REQUEST || (end == WIRE_PART && stream == RELAY_UPSTREAM))
            meet_request(link, toxics, end == WIRE_REQUEST, now_us);
        if (end != WIRE_NOTHING && !is_part) /* of a reply */
            flow->whole = flow->read + at;
    }
    flow->read += piece->length;
}

static void append(struct flow *flow, struct piece *piece)
{
    if (flow->last)
        flow->last->next = piece;
    else
        flow->first = piece;
    flow->last = piece;
    flow->held += piece->length;
}

/* us by which bytes that come now are to be passed on later. */
static int64_t find_delay(struct toxics *toxics, enum relay_stream stream)
{
    const struct toxic *latency = toxics_on(toxics, RELAY_LATENCY, stream);

    toxics->counts.bitten[RELAY_LATENCY] += latency != NULL;
    return latency ? latency->is.amount : 0;
}

/* Takes in what is there; false when there is no memory. A reset is an end behind what came before
 * it, which still arrives. */
static bool take_in(struct link *link, struct toxics *toxics, enum relay_stream stream,
                    int64_t now_us)
{
    struct flow *flow = &link->flows[stream];
    char bytes[PIECE_BYTES];
    ssize_t got = recv(link->ends[stream].fd, bytes, sizeof bytes, MSG_DONTWAIT);

    if (got <= 0) {
        link->ends[stream].gone |= got < 0 && errno != EAGAIN && errno != EINTR;
        flow->ended = got == 0 || link->ends[stream].gone;
        return true;
    }
    toxics->counts.bytes[stream] += got;
    struct piece *piece = malloc(sizeof *piece + (size_t)got);
    if (!piece)
        return false;
    *piece = (struct piece){.length = (size_t)got, .due_us = now_us + find_delay(toxics, stream)};
    memcpy(piece->bytes, bytes, (size_t)got);
    append(flow, piece);
    follow(link, toxics, stream, piece, now_us);
    return true;
}

/* Where the stream has to stop for now: at a barrier, and as long as something waits for a message,
 * at the end of the last one that is known whole. */
static uint64_t find_limit(const struct link *link, const struct toxics *toxics,
                           enum relay_stream stream)
{
    static const enum relay_type waits[2][2] = {{RELAY_LOSE_REQUEST, RELAY_HOLD_REQUEST},
                                                {RELAY_SWALLOW_REPLY, RELAY_SWALLOW_REPLY}};
    const struct flow *flow = &link->flows[stream];
    bool waiting =
        toxics_on(toxics, waits[stream][0], stream) || toxics_on(toxics, waits[stream][1], stream);
    uint64_t limit = waiting && !link->wire.blind ? flow->whole : UINT64_MAX;

    return limit < flow->barrier ? limit : flow->barrier;
}

/* Once for each time that it has something to keep. */
static void note_stall(struct flow *flow, struct toxics *toxics, enum relay_stream stream)
{
    bool stalls = toxics_on(toxics, RELAY_STALL, stream) != NULL;

    toxics->counts.bitten[RELAY_STALL] += stalls && flow->first && !flow->stalled;
    flow->stalled = stalls && flow->first;
}

/* How much of a stream may go now. 0: wait. */
static uint64_t find_room(const struct link *link, const struct toxics *toxics,
                          enum relay_stream stream)
{
    const struct flow *flow = &link->flows[stream];
    uint64_t limit = find_limit(link, toxics, stream);

    return !flow->stalled && limit > flow->sent ? limit - flow->sent : 0;
}

/* Sends of the first piece what may go. */
static void send_some(struct flow *flow, struct link_end *to, size_t room)
{
    struct piece *piece = flow->first;
    size_t left = piece->length - piece->sent;
    ssize_t got = send(to->fd, piece->bytes + piece->sent, left < room ? left : room,
                       MSG_DONTWAIT | MSG_NOSIGNAL);
    size_t sent = got > 0 ? (size_t)got : 0;

    flow->full = got < 0;
    to->gone |= got < 0 && errno != EAGAIN && errno != EINTR;
    flow->sent += sent;
    piece->sent += sent;
    if (piece->sent == piece->length)
        drop_first(flow);
}

/* Drops the bytes for an end that is gone. */
static void drop_all(struct flow *flow)
{
    while (flow->first)
        drop_first(flow);
    flow->sent = flow->read;
    flow->full = false;
}

/* The reader's end, when all before it is through. */
static void pass_end(struct link *link, const struct toxics *toxics, enum relay_stream stream)
{
    struct flow *flow = &link->flows[stream];

    if (!flow->ended || flow->first || flow->passed || toxics_on(toxics, RELAY_STALL, stream))
        return;
    shutdown(link->ends[1 - stream].fd, SHUT_WR);
    flow->passed = true;
}

/* Passes on what is due. */
static void pass_on(struct link *link, struct toxics *toxics, enum relay_stream stream,
                    int64_t now_us)
{
    struct flow *flow = &link->flows[stream];
    struct link_end *to = &link->ends[1 - stream];

    flow->full = false;
    note_stall(flow, toxics, stream);
    while (flow->first && flow->first->due_us <= now_us && !flow->full) {
        uint64_t room = find_room(link, toxics, stream);
        if (room == 0)
            break;
        send_some(flow, to, (size_t)room);
    }
    if (to->gone)
        drop_all(flow);
    pass_end(link, toxics, stream);
}

/* When the connection is reset; INT64_MAX: it is not. */
static int64_t find_reset(const struct link *link, const struct toxics *toxics)
{
    const struct toxic *reset = toxics_on(toxics, RELAY_RESET_PEER, RELAY_UPSTREAM);

    if (!reset)
        return INT64_MAX;
    return (link->opened_us > reset->since_us ? link->opened_us : reset->since_us) +
           reset->is.amount;
}

/* Whether all is through that comes before a cut. */
static bool is_cut(const struct link *link)
{
    for (int stream = 0; stream < 2; stream++) {
        const struct flow *flow = &link->flows[stream];
        if (flow->barrier != UINT64_MAX && flow->sent < flow->barrier)
            return false;
    }
    return true;
}

/* When the link has to be served next. Bytes that are due already wait for an event, not for a
 * time. */
static int64_t find_due(const struct link *link, const struct toxics *toxics, int64_t now_us)
{
    int64_t due_us = find_reset(link, toxics);

    if (link->cutting && link->cut_us > now_us)
        due_us = clock_earlier(due_us, link->cut_us);
    if (link->part_us != 0)
        due_us = clock_earlier(due_us, link->part_us);
    for (int stream = 0; stream < 2; stream++) {
        const struct flow *flow = &link->flows[stream];
        bool waits = flow->first && !flow->full && !flow->stalled;
        if (waits && flow->sent < find_limit(link, toxics, (enum relay_stream)stream))
            due_us = clock_earlier(due_us, flow->first->due_us);
    }
    return due_us;
}

/* Both ends have been passed on; or one of them, and the other side takes nothing more. A held
 * request is answered first, though its client is gone. */
static bool is_over(const struct link *link)
{
    const struct flow *up = &link->flows[RELAY_UPSTREAM];
    const struct flow *down = &link->flows[RELAY_DOWNSTREAM];

    return (up->passed && (down->passed || (link->ends[0].gone && !link->awaited))) ||
           (down->passed && link->ends[1].gone);
}

int64_t link_serve(struct link *link, struct toxics *toxics, int64_t now_us)
{
    bool lives = true;

    for (int i = 0; i < 2 && lives; i++) {
        const struct flow *flow = &link->flows[i];
        if (link->ends[i].readable && !flow->ended && flow->held < HELD_MAX_BYTES)
            lives = take_in(link, toxics, (enum relay_stream)i, now_us);
        link->ends[i].readable = false;
        if (lives)
            pass_on(link, toxics, (enum relay_stream)i, now_us);
    }
    if (link->part_us != 0 && now_us >= link->part_us) {
        shutdown(link->ends[0].fd, SHUT_WR);
        link->part_us = 0;
    }
    bool cut = link->cutting && now_us >= link->cut_us && is_cut(link);
    link->reset = lives && now_us >= find_reset(link, toxics);
    toxics->counts.bitten[RELAY_RESET_PEER] += link->reset;
    link->over = !lives || is_over(link) || cut || link->reset;
    return link->over ? INT64_MAX : find_due(link, toxics, now_us);
}

uint32_t link_interest(const struct link *link, int end)
{
    const struct flow *in = &link->flows[end];
    const struct flow *out = &link->flows[1 - end];
    bool reads = !in->ended && in->held < HELD_MAX_BYTES;

    return (reads ? (uint32_t)EPOLLIN : 0) | (out->full ? (uint32_t)EPOLLOUT : 0);
}
