/* The application: builds every room, destroys them in reverse. The only file that sees them all.
 */
#ifndef SECKILL_APP_H
#define SECKILL_APP_H

#include "settings/settings.h"

/* Serves until SIGTERM or SIGINT. The exit status: 0 when everything accepted was answered, 1 when
 * the drain was cut short, 2 when the start failed (and stderr says what is wrong and how to mend
 * it). */
int app_run(const struct settings *settings);

#endif
