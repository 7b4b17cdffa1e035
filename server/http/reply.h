/* Replies: the one place that makes libmicrohttpd responses. All of it runs in an access call. */
#ifndef SECKILL_HTTP_REPLY_H
#define SECKILL_HTTP_REPLY_H

#include "http/request.h"

#define REPLY_JSON "application/json"

struct reply {
    int status;
    const char *type; /* Content-Type; NULL: there is no body */
    char *body;
    size_t length;
    enum MHD_ResponseMemoryMode memory; /* MHD_RESPMEM_MUST_FREE: the body is handed over */
    const char *location;               /* NULL: no such header */
    const char *policy;                 /* Content-Security-Policy; NULL: no page for a browser */
    bool replayed;                      /* Idempotent-Replayed: true */
    bool close;                         /* the connection ends with this reply */
};

enum MHD_Result reply_send(struct request *request, const struct reply *reply);

/* The request's problem; fits `request->answer`. */
enum MHD_Result reply_problem(struct request *request);
enum MHD_Result reply_problem_and_close(struct request *request);

/* Writes the problem to the socket past libmicrohttpd, whose memory may be used up, and ends the
 * connection. Nothing else may have been begun on it: for the callbacks of a request's head. */
void reply_bare(struct http *http, struct MHD_Connection *mhd, const struct problem *problem);

/* A heap string, which is handed over; NULL (no memory) becomes a 500. */
enum MHD_Result reply_text(struct request *request, int status, const char *type, char *text);

/* The same of a page for browsers, with its Content-Security-Policy. */
enum MHD_Result reply_page(struct request *request, const char *policy, char *html);

/* What the request's call rendered, with 201 when it created something; fits `request->answer`. */
enum MHD_Result reply_call(struct request *request);

#endif
