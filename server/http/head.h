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
    /* libmicrohttpd's pool for one connection: the head, and the head of the reply. It is cleared
     * for each request, which costs most of a microsecond, and above 32 KiB it would be mapped and
     * unmapped for each connection. */
    HEAD_MEMORY_BYTES = 32 * 1024,
    HEAD_TARGET_MAX = 4096,
    HEAD_PARAMETERS_MAX = 32
};

/* 414 when the target is longer than HEAD_TARGET_MAX bytes, or has too many parameters. */
bool head_target_fits(const char *target, struct problem *problem);

/* In bytes, with its empty line; 0 while it has not come. */
size_t head_length(struct MHD_Connection *mhd);

/* For the callback that has the target: sees to it that libmicrohttpd does not answer by itself
 * where there is no Host or no good length. */
void head_plant(struct MHD_Connection *mhd, const char *target);

/* Reads the request's fields. For the first access call. */
void head_fields(struct MHD_Connection *mhd, struct headers *headers);

/* 431 when so little memory is left that a request could be worked on and its reply not be built.
 * For the first access call; `headers` are the request's. */
bool head_fits(struct MHD_Connection *mhd, const struct headers *headers, struct problem *problem);

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
