/*
 * What is to be said of a command's options together: what they are where nothing was said, and
 * what cannot be said together, each with what would mend it. Commands with a struct of their own
 * have theirs beside it.
 */
#ifndef SECKILL_LOADTEST_COMMANDS_SETTLE_H
#define SECKILL_LOADTEST_COMMANDS_SETTLE_H

#include "loadtest/base/options.h"

bool run_settle(struct options *options, const struct option_given *given, struct error *error);

/* What several have: --body; --keys; a fleet of servers of which there is one number. */
bool settle_body(const struct options *options, struct error *error);
bool settle_keys(struct options *options, struct error *error);
bool settle_fleet(struct options *options, struct error *error);

#endif
