/*
 * Secrets on their way into a program: a flag, a variable of the environment, or the file that the
 * variable with _FILE behind its name says. The server's settings and the harness's options share
 * these rules, so that a secret is handled alike by both.
 *
 * Thread rule: to be called while the program has one thread.
 */
#ifndef SECKILL_BASE_SECRET_H
#define SECKILL_BASE_SECRET_H

#include "base/error.h"

#include <stddef.h>

/* The argument's text, which is overwritten with '*' where it stood: other users of the machine see
 * the arguments of its processes. The copy is kept until the process ends: borrowed. */
const char *secret_take_argument(char *argument);

/* What the environment says of a secret: `variable` itself, or one line of a file that
 * `variable`_FILE names, which must not be empty; *text is NULL when it says neither, and else
 * borrowed. `name` becomes the variable that the text is from. False, with a text without the
 * secret, when both are there or the file cannot be read. `environment` looks a variable up. */
bool secret_find(const char *variable, char *(*environment)(const char *), const char **text,
                 char *name, size_t size, struct error *error);

#endif
