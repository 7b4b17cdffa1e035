/*
 * The handlers, by resource. Each reads its request and leaves an answer, or starts waiting for
 * one; see request.h.
 */
#ifndef SECKILL_API_HANDLERS_H
#define SECKILL_API_HANDLERS_H

#include "http/request.h"

/* orders.c */
void orders_post(struct request *request);
void orders_list(struct request *request);
void orders_feed(struct request *request);
void orders_get(struct request *request);
/* A call's work: the order of the path, wherever it stands, into the call's record. */
enum { ORDERS_LOOKUP_MS = 5000 };
enum catalog_result orders_look_up(struct call *call, struct pg *pg, struct error *error);
/* Begins to change the order of the path: `work` is done in a call, again as long as an order may
 * wait, and then `then` goes on; a server that drains refuses. */
void orders_change(struct request *request,
                   enum catalog_result (*work)(struct call *, struct pg *, struct error *),
                   void (*then)(struct request *));
/* These fit `request->answer`: the order that a call has found; that dispatch has decided. */
enum MHD_Result orders_answer_found(struct request *request);
enum MHD_Result orders_answer_decided(struct request *request);

/* cancel.c */
void orders_cancel(struct request *request);

/* payments.c */
void orders_pay(struct request *request);

/* products.c */
void products_list(struct request *request);
void products_get(struct request *request);
void products_put(struct request *request);
void products_patch(struct request *request);
void products_put_run(struct request *request);
void products_audit(struct request *request);
void products_restock(struct request *request);

/* events.c */
void events_get(struct request *request);

/* service.c */
void service_strategies(struct request *request);
void service_healthz(struct request *request);
void service_readyz(struct request *request);
void service_metrics(struct request *request);
void service_openapi(struct request *request);

/* page/page.c */
void service_page(struct request *request);
void service_zoo(struct request *request);

#endif
