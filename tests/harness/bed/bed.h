/* What the tests of the whole program share: a folder, servers, and the harness run as a child. */
#ifndef SECKILL_TESTS_HARNESS_BED_H
#define SECKILL_TESTS_HARNESS_BED_H

#include "loadtest/fleet/instance.h"
#include "loadtest/phase/phase.h"

#include <jansson.h>

struct bed {
    char folder[64]; /* a new one below /tmp */
    struct options options;
    struct instance servers[OPTIONS_MAX_INSTANCES];
    size_t count;
    char output[65536]; /* of the last harness run: stdout and stderr */
};

/* Starts `count` servers on the test's PostgreSQL and Redis; 0: none. Fails the test when it
 * cannot. */
struct bed *bed_create(size_t count);
void bed_destroy(struct bed *bed);

/* Runs seckill-loadtest; `arguments` are separated by blanks, and --database, --redis and --out
 * (unless it is audit or check; zoo has no --out either, and shop nothing else) are added. Returns
 * its exit status, or -1 when a signal ended it.
 */
int bed_run(struct bed *bed, const char *arguments);

/* The same with seckill-bench. */
int bed_bench(struct bed *bed, const char *arguments);

/* The same in two steps, for tests that interrupt it. */
void bed_start(struct bed *bed, const char *arguments, struct process *process);
int bed_finish(struct bed *bed, struct process *process);
/* In between: reads its words until they say `text`; they are in no output. */
void bed_read_until(const struct process *process, const char *text);

/* results.json of the last run; NULL when there is none. Owned by the caller. */
json_t *bed_results(const struct bed *bed);

/* The verdict of a strategy in a phase with so many instances; "" when there is no such run. */
const char *bed_verdict(const json_t *results, const char *strategy, const char *phase,
                        int instances);

const char *bed_database(void);

/* The bed's servers as phases take them, and one of their strategies. */
void bed_open_fleet(struct bed *bed, struct fleet *fleet);
void bed_close_fleet(struct fleet *fleet);
void bed_find_strategy(const struct fleet *fleet, const char *name, struct api_strategy *out);

#endif
