/*
 * The head of a request, its line and its header fields, as libmicrohttpd has read it: whether it
 * leaves enough of the connection's memory for the reply, and whether all of it was read.
 */
#ifndef SECKILL_HTTP_HEAD_H
#define SECKILL_HTTP_HEAD_H

#include "http/reader/problem.h"
#include "http/reader/reader.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    /* libmicrohttpd's pool for one connection: a head of 8 KiB and 100 fields, and the reply's, of
     * which the page's is the longest. All of it is cleared for each request, half of it twice, and
     * so it is resident. */
    HEAD_MEMORY_BYTES = 15936,
    HEAD_INCREMENT_BYTES = 8, /* with less left in its buffer libmicrohttpd 1.0 enlarges it */
    HEAD_REPLY_BYTES = 224,   /* the head of a reply is shorter, without a page's policy */
    HEAD_TARGET_MAX = 4096,
    HEAD_PARAMETERS_MAX = 32
};

/* 414 when the target is longer than HEAD_TARGET_MAX bytes, or has too many parameters. */
bool head_target_fits(const char *target, struct problem *problem);

/* In bytes, with its empty line; 0 while it has not come. */
size_t head_length(struct MHD_Connection *mhd);

/* For the callback that has the target: sees to it that libmicrohttpd does not answer by itself
 * where there is no Host or no good length, and that it keeps neither the Cookie nor the query.
 * After the last look at the target. */
void head_plant(struct MHD_Connection *mhd, const char *target);

/* Reads the request's fields. For the first access call. */
void head_fields(struct MHD_Connection *mhd, struct headers *headers);

/* 431 when so little memory is left that a request could be worked on and its reply not be built;
 * *reply_room is how many bytes the reply's head may have. For the first access call. */
bool head_fits(struct MHD_Connection *mhd, int *reply_room, struct problem *problem);

/* Says so; false. */
bool head_too_large(struct problem *problem);

/* The request line: its parts where they stand in libmicrohttpd's memory. */
struct head_line {
    const char *method;
    const char *target; /* decoded and cut by libmicrohttpd since it came */
    size_t target_length;
    const char *version;
};

/* 400 when the head as it was sent is not what libmicrohttpd says of it: because of a NUL, a folded
 * field, a line that does not end with CRLF, or more than a space between two parts. For the first
 * access call. */
bool head_is_plain(struct MHD_Connection *mhd, const struct head_line *line,
                   struct problem *problem);

#endif
