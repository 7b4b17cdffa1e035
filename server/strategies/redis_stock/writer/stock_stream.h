/*
 * The stream between the scripts that reserve and the writers: an entry is its instance's member's
 * of the consumer group from the moment it is there, so that another may take it over. The entries
 * that did not come by stock_handover.h are read here, and taken apart into claims;
 * stock_acknowledge.h lets go of both.
 *
 * What cannot be read of an entry (stock_waiting.h says what there should be) nobody can write: it
 * is logged and dropped, when the rest is decided.
 */
#ifndef SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_STREAM_H
#define SECKILL_STRATEGIES_REDIS_STOCK_WRITER_STOCK_STREAM_H

#include "strategies/redis_stock/writer/stock_write.h"

#define STOCK_GROUP "writers"

enum {
    STOCK_ENTRY_MAX = 48,
    STOCK_MEMBER_MAX = 128,
    STREAM_ENTRIES = 100,
    STREAM_WRONG_MAX = 256,
    /* The id, four numbers, the fate, the key, six spaces, the end of the line and of the text. */
    STREAM_LINE = UUID_TEXT_LENGTH + 4 * 20 + STOCK_GENERATION_MAX + ORDER_KEY_MAX + 6 + 2,
    STREAM_GROUP_MAX = UUID_GROUP_BITS / 4 + 1
};

enum stock_source {
    STOCK_OWN_HISTORY, /* ours, not acknowledged */
    STOCK_TAKE_OVER    /* of a member that does not get on, or nobody's */
};

struct stock_stream {
    const struct settings *settings; /* borrowed: app */
    char member[STOCK_MEMBER_MAX];
    bool lasting;   /* the member's name outlives the process */
    bool grouped;   /* the group is known to be there */
    bool strangers; /* another database's orders were seen, and logged */
    int64_t take_over_ms;
    char history_from[STOCK_ENTRY_MAX];   /* what is read next of the own history is behind this */
    char take_over_from[STOCK_ENTRY_MAX]; /* where the search begins that looks for others' */
    int64_t
        oldest_ms; /* the age of the oldest entry of all members, when it was last seen; -1: none
                    */
    struct redis_reply *reply;         /* owned: what was read */
    const struct redis_reply *entries; /* in `reply` */
    int next;                          /* entry */
    struct claim *claims;              /* owned: WRITE_MAX */
    char *lines;                       /* owned: for the script that acknowledges */
    struct stream_wrong {              /* mirrors that said too much */
        int64_t product_id;
        int64_t ended; /* it is of this sale, which has ended; 0: of the present one */
    } wrong[STREAM_WRONG_MAX];
    int wrong_count;
    /* Entries that PostgreSQL has whole: to be let go of, a few of them in one call. */
    struct noted_entry {
        char id[STOCK_ENTRY_MAX];
        char group[STREAM_GROUP_MAX];
        char sale[2 * STOCK_NUMBER_MAX]; /* product:epoch */
        char units[STOCK_NUMBER_MAX];
        char orders[STOCK_NUMBER_MAX];
    } noted[STREAM_ENTRIES];
    int noted_count;
    int64_t noted_since_us;
};

/* Some whole entries, as claims. */
struct stock_part {
    bool fresh;           /* nobody had them before */
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

/* This instance's name in the consumer group. False: it does not outlive the process. */
bool stock_member(const struct settings *settings, char out[STOCK_MEMBER_MAX]);

struct stock_stream *stock_stream_create(const struct settings *settings, int64_t take_over_ms);
void stock_stream_destroy(struct stock_stream *stream); /* NULL is allowed */

/* Connects and makes sure of the group. *fresh: it is a new session. */
bool stock_stream_connect(struct stock_stream *stream, struct stock_link *link, bool *fresh);
/* The own history is read from its beginning again; what of others may be taken over as well. */
void stock_stream_rewind(struct stock_stream *stream, enum stock_source source);
/* Reads the next entries of this source, STREAM_ENTRIES at most; how many there are, -1: Redis has
 * not said. *more: there may be others behind them. */
int stock_stream_read(struct stock_stream *stream, struct stock_link *link,
                      enum stock_source source, bool *more);
/* Learns oldest_ms, and nothing else; for when nothing can be written. False: Redis has not said.
 */
bool stock_stream_look(struct stock_stream *stream, struct stock_link *link);
/* The next part of what was read; false when there is no more. */
bool stock_stream_next(struct stock_stream *stream, struct stock_part *part);
/* Whether `entry` comes after `other` in the stream: by both numbers of "MS-N". */
bool stock_entry_is_behind(const char *entry, const char *other);
/* Leaves the group, if the name is of no more use and nothing is left under it. */
void stock_stream_leave(struct stock_stream *stream, struct stock_link *link);

#endif
