/* The pieces that every JSON file of the harness has; for the files that write one. The objects
 * returned are owned by the caller. */
#ifndef SECKILL_LOADTEST_REPORT_RESULTS_JSON_H
#define SECKILL_LOADTEST_REPORT_RESULTS_JSON_H

#include "loadtest/fleet/machine.h"

#include <jansson.h>

json_t *results_json_machine(const struct machine *machine);
json_t *results_json_versions(const struct machine *machine);
json_t *results_json_database(const struct machine *machine); /* PostgreSQL's settings */

/* Writes `document`, which it takes, to a file in the folder. */
bool results_json_write(const char *folder, const char *name, json_t *document,
                        struct error *error);

#endif
