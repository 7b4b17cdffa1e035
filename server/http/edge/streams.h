/* The edge's streams, and the source of their messages (http/stream.h has the rules). */
#ifndef SECKILL_HTTP_EDGE_STREAMS_H
#define SECKILL_HTTP_EDGE_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

struct stream;

/* What the source has found: text as it goes out, handed over; NULL: nothing. */
struct stream_news {
    char *changed; /* since the last time */
    char *whole;   /* everything; where it was asked for, or `all_need_whole` */
    bool all_need_whole;
};

/* `ask` has a task made, which always answers, later, by streams_tell. */
struct stream_source {
    void (*ask)(void *context, bool whole);
    void (*destroy)(void *context);
    void *context; /* owned */
};

struct streams {
    struct stream *first;
    int64_t count;
    struct stream_source source; /* set by the first listener's handler */
    bool asked;                  /* and not answered yet */
    int64_t next_us;             /* when to ask next */
};

#endif
