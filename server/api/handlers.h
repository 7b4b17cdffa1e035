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
void orders_cancel(struct request *request);
/* The order that a call has found; fits `request->answer`. */
enum MHD_Result orders_answer_found(struct request *request);

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
