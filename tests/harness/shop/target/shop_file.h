/*
 * A folder of the test's own with a target's file in it, so that errors name it as a reader would
 * write it: SHOP_FILE, without a way to it.
 */
#ifndef SECKILL_TESTS_HARNESS_SHOP_SHOP_FILE_H
#define SECKILL_TESTS_HARNESS_SHOP_SHOP_FILE_H

#include "lib/t.h"

#define SHOP_FILE "shop"

/* Group fixtures: the process goes into the folder, which goes at the end with all that is in it.
 */
int shop_file_setup(void **state);
int shop_file_teardown(void **state);

#endif
