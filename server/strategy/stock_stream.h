/*
 * The stream between the scripts that reserve and the writer: reading entries and taking them apart
 * into claims (stock_settle.h lets go of them).
 *
 * What cannot be read of an entry (stock_waiting.h says what there should be) nobody can write: it
 * is logged and dropped, when the rest is decided.
 */
#ifndef SECKILL_STRATEGY_STOCK_STREAM_H
#define SECKILL_STRATEGY_STOCK_STREAM_H

#include "strategy/stock_write.h"

#define STOCK_GROUP "writers"

enum {
    STOCK_ENTRY_MAX = 48,
    STREAM_ENTRIES = 100,
    STREAM_WRONG_MAX = 256,
    STREAM_SETTLE_LINE = 256
};

enum stock_source {
    STOCK_OWN_HISTORY, /* delivered to us before, not acknowledged */
    STOCK_TAKE_OVER,   /* delivered to a member that does not get on */
    STOCK_NEW          /* waits a moment for some */
};

struct stock_stream {
    const struct settings *settings; /* borrowed: app */
    char consumer[128];
    bool lasting; /* the consumer's name outlives the process */
    bool grouped; /* the group is known to be there */
    int64_t take_over_ms;
    struct redis_reply *reply;         /* owned: what was read */
    const struct redis_reply *entries; /* in `reply` */
    struct redis_reply *ahead;         /* owned: what stock_stream_keep was given; NULL: nothing */
    int next;                          /* entry */
    bool fresh;                        /* nobody had them before */
    struct claim *claims;              /* owned: WRITE_MAX */
    char *lines;                       /* owned: for settling */
    int64_t wrong[STREAM_WRONG_MAX];   /* products whose mirrors said too much */
    int wrong_count;
};

/* Some whole entries, as claims. */
struct stock_part {
    bool fresh;           /* delivered for the first time */
    struct claim *claims; /* borrowed: the stream */
    int count;
    int entries_count;
    struct part_entry {
        char id[STOCK_ENTRY_MAX];
        int first; /* claim */
        int count;
        bool whole; /* all of it could be read */
    } entries[STREAM_ENTRIES];
};

struct stock_stream *stock_stream_create(const struct settings *settings, int64_t take_over_ms);
void stock_stream_destroy(struct stock_stream *stream); /* NULL is allowed */

/* Connects and makes sure of the group. *fresh: it is a new session. */
bool stock_stream_connect(struct stock_stream *stream, struct redis *redis, int64_t until_us,
                          bool *fresh);
/* Reads entries of this source; how many there are. */
int stock_stream_read(struct stock_stream *stream, struct stock_link *link,
                      enum stock_source source);
/* Keeps what a script has read already, in its answer's second element, for the next reading of
 * what is new. Takes over `reply`. */
void stock_stream_keep(struct stock_stream *stream, struct redis_reply *reply);
/* The next part of what was read; false when there is no more. */
bool stock_stream_next(struct stock_stream *stream, struct stock_part *part);
/* Leaves the group, if the name is of no more use and nothing is left under it. */
void stock_stream_leave(struct stock_stream *stream, struct stock_link *link);

#endif
