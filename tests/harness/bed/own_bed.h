/* A bed for each test, as cmocka's setup and teardown: alone, or with so many servers. */
#ifndef SECKILL_TESTS_HARNESS_OWN_BED_H
#define SECKILL_TESTS_HARNESS_OWN_BED_H

#include "harness/bed/bed.h"

extern struct bed *bed; /* the running test's */

int own_bed_alone(void **state);
int own_bed_one(void **state);
int own_bed_two(void **state);
int own_bed_end(void **state);

/* Fails the test unless its last run said it. */
void own_bed_says(const char *text);
/* Fails the test unless a file that the run has left says it. */
void own_bed_file_says(const char *name, const char *text);
/* A statement that is no question, on the database of the test; `role` NULL: as the harness's own.
 */
void own_bed_sql(const char *role, const char *text);

#endif
