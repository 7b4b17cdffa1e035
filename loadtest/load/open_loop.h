/*
 * The harness's own generator: starts orders when the schedule says so, however slow the servers
 * are, and counts every latency from the moment at which the order was due. What the servers make
 * others wait is in the figures (no coordinated omission), unlike with wrk, which sends the next
 * order when the one before was answered.
 *
 * One thread, one epoll, keep-alive connections that stand before the first order is due. An order
 * that falls due while all of them are busy starts as soon as one is free, late, and its latency
 * still counts from when it was due; one that has not started when the last has fallen due never
 * does, and counts as failed with the wait it had by then.
 *
 * How late the generator itself takes up what is due is measured too (lag), and it asks the kernel
 * for precedence over the servers, since buyers have machines of their own. Where more than one
 * arrival in a hundred lags by more than the limit, the figures are the generator's and not the
 * servers': `too_late` is set, and nobody may report them.
 *
 * With keys a share of the orders is sent again beside the schedule: every other one at once, the
 * others when the first has its answer. Repeats are counted among the requests, and in no latency.
 *
 * It also sends the calls of a list, each once, so many at a time, and keeps what was answered with
 * each. wrk ends by time and abandons what is in flight then; the experiments of the articles are
 * "5,000 times" and "two at once".
 */
#ifndef SECKILL_LOADTEST_LOAD_OPEN_LOOP_H
#define SECKILL_LOADTEST_LOAD_OPEN_LOOP_H

#include "loadtest/load/load.h"

enum { OPEN_LOOP_CONNECTIONS_MAX = 60000 };

/* A load with a schedule, or with a list of calls. False when it could not be made: nobody listens,
 * no descriptors, interrupted. A server that dies meanwhile is a result of a schedule; a call of a
 * list without an answer ends the load, for nobody knows then what was done. */
bool open_loop_run(const struct load *load, struct load_result *result, struct error *error);

#endif
