/*
 * The wall clock of one server, stepped while it runs: libfaketime is loaded into it and adds what
 * stands in a file to each look at CLOCK_REALTIME. CLOCK_MONOTONIC, and with it every deadline of
 * the server's, stays as it is.
 *
 * Not for a server built with AddressSanitizer, which has to be loaded first.
 *
 * Source: libfaketime README, FAKETIME_TIMESTAMP_FILE, FAKETIME_NO_CACHE,
 * FAKETIME_DONT_FAKE_MONOTONIC.
 */
#ifndef SECKILL_LOADTEST_FLEET_CLOCK_STEP_H
#define SECKILL_LOADTEST_FLEET_CLOCK_STEP_H

#include "loadtest/fleet/instance.h"

/* From its next start on (instance_start_again) its clock can be stepped; `path` is a file that is
 * made for that and stays. False, with the error, where libfaketime is not installed. */
bool clock_step_prepare(struct instance *instance, const char *path, struct error *error);

/* It is so many seconds ahead of the machine from now on, or behind. */
bool clock_step_set(const struct instance *instance, int64_t ahead_s, struct error *error);

/* By how much it is ahead, to the second, as its own answers say (the Date of GET /healthz). */
bool clock_step_look(const struct instance *instance, int64_t *ahead_s, struct error *error);

#endif
