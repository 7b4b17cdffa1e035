/*
 * The application: builds every room, destroys them in reverse. The only file that sees them all.
 *
 * An app has all of its state: a process may have several, each with settings of its own. The
 * process's are the log, the failpoints, the random numbers and the stop (base), which ends the
 * service of every app.
 */
#ifndef SECKILL_APP_H
#define SECKILL_APP_H

#include "settings/settings.h"

struct app;

/* Whether there is what the settings name. Nothing is opened. */
bool app_check(const struct settings *settings, struct error *error);

/* Everything is built, and the socket listens; nothing is served yet. NULL: `error` says what is
 * wrong and how to mend it. `settings` passed app_check, and are borrowed until app_destroy. */
struct app *app_create(const struct settings *settings, struct error *error);
void app_destroy(struct app *app); /* NULL is allowed */

/* "http://HOST:PORT", with the real port where 0 was asked for. */
const char *app_address(const struct app *app);

/* Serves on the calling thread until the process is told to stop (base/stop.h). 0: everything
 * accepted was answered; 1: the drain was cut short. */
int app_serve(struct app *app);

/* The whole life of the one app of seckill-server, SIGTERM and SIGINT included. The exit status:
 * app_serve's, or 2 when the start failed and stderr says why. */
int app_run(const struct settings *settings);

#endif
