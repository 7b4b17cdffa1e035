/*
 * Log: one line per event on stderr, `time level message`, safe from any thread.
 *
 * Control characters in the finished line are escaped (\xNN), so that nothing a client sends can
 * forge a line. A format string that repeats more than 10 times within a second is written 10 times
 * and then summed up ("… and N more like it") once the second is over.
 */
#ifndef SECKILL_BASE_LOG_H
#define SECKILL_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* "error", "warn", "info", "debug"; false for anything else. */
bool log_level_parse(const char *text, enum log_level *level);
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

__attribute__((format(printf, 2, 3))) void log_write(enum log_level level, const char *format, ...);

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)                                                                             \
    do {                                                                                           \
        if (log_enabled(LOG_LEVEL_DEBUG))                                                          \
            log_write(LOG_LEVEL_DEBUG, __VA_ARGS__);                                               \
    } while (0)

#endif
