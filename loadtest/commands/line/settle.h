/* Checks of options that several commands have: --body; --keys; a fleet of servers, with one number
 * of them. Each also fills in what follows from them. */
#ifndef SECKILL_LOADTEST_COMMANDS_SETTLE_H
#define SECKILL_LOADTEST_COMMANDS_SETTLE_H

#include "loadtest/base/options.h"

bool settle_body(const struct options *options, struct error *error);
bool settle_keys(struct options *options, struct error *error);
bool settle_fleet(struct options *options, struct error *error);

#endif
