/*
 * A line is formatted, escaped and handed to stderr by one write(2), so lines of several threads do
 * not mix.
 *
 * Repeats are counted in a small table, keyed by the format string: a slot is one format's current
 * second. When the second is over, the next line of any format, or the end of the process, writes
 * how many were left out, behind the last line that was not. A table full of busy slots limits
 * nothing: better too many lines than the wrong ones missing. The mutex guards the table alone;
 * nothing is written while it is held.
 */
#include "base/log.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE_MAX = 2048, LIKE_MAX = 256, REPEATS_MAX = 10, SLOTS = 64 };

struct slot {
    const char *format; /* borrowed: a literal; NULL: free */
    enum log_level level;
    int64_t ends_us; /* monotonic */
    unsigned seen;
    char like[LIKE_MAX]; /* the last line that was not left out; its first part, if it is long */
};

static const char *const names[] = {"error", "warn", "info", "debug"};

static atomic_int threshold = LOG_LEVEL_INFO;

static struct {
    pthread_mutex_t mutex; /* guards the rest */
    struct slot slots[SLOTS];
    int64_t next_sweep_us; /* the first end of a slot that has left lines out; INT64_MAX: none */
    bool at_exit;
} repeats = {.mutex = PTHREAD_MUTEX_INITIALIZER, .next_sweep_us = INT64_MAX};

bool log_level_parse(const char *text, enum log_level *level)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) == 0) {
            *level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&threshold, (int)level, memory_order_relaxed);
}

bool log_enabled(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&threshold, memory_order_relaxed);
}

/* How many bytes from `at` are one printable character of UTF-8; 0: its first byte is to be
 * escaped. Control characters are C0, DEL, and C1 in either form, for terminals obey those as well.
 */
static size_t printable(const unsigned char *at)
{
    if (at[0] < 0x80)
        return at[0] >= 0x20 && at[0] != 0x7f;

    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || (at[0] == 0xc2 && at[1] < 0xa0))
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

static void write_line(enum log_level level, const char *message)
{
    static const char digits[] = "0123456789abcdef";
    char line[64 + 4 * MESSAGE_MAX];
    char now[CLOCK_RFC3339_LENGTH + 1];

    clock_format_rfc3339(clock_wall_us(), now);
    size_t length = (size_t)snprintf(line, 64, "%s %s ", now, names[level]);
    const unsigned char *at = (const unsigned char *)message;
    while (*at != '\0') {
        size_t whole = printable(at);
        for (size_t i = 0; i < whole; i++)
            line[length++] = (char)*at++;
        if (whole > 0)
            continue;
        line[length++] = '\\';
        line[length++] = 'x';
        line[length++] = digits[*at >> 4];
        line[length++] = digits[*at & 15];
        at++;
    }
    line[length++] = '\n';

    while (write(STDERR_FILENO, line, length) < 0 && errno == EINTR)
        continue;
}

/* Copies the slots whose second has ended with lines left out to `ended` and frees them. Needs the
 * mutex. */
static size_t sweep(int64_t now_us, struct slot ended[SLOTS])
{
    size_t count = 0;

    if (now_us < repeats.next_sweep_us)
        return 0;
    repeats.next_sweep_us = INT64_MAX;
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &repeats.slots[i];
        if (slot->format == NULL || slot->seen <= REPEATS_MAX)
            continue;
        if (slot->ends_us <= now_us) {
            ended[count++] = *slot;
            slot->format = NULL;
        } else if (slot->ends_us < repeats.next_sweep_us) {
            repeats.next_sweep_us = slot->ends_us;
        }
    }
    return count;
}

/* The slot of this format within its second, or a free one, or NULL. Needs the mutex. */
static struct slot *find_slot(const char *format, int64_t now_us)
{
    struct slot *unused = NULL;

    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &repeats.slots[i];
        bool over = slot->format == NULL || slot->ends_us <= now_us;
        if (!over && strcmp(slot->format, format) == 0)
            return slot;
        if (over && unused == NULL)
            unused = slot;
    }
    if (unused != NULL)
        *unused = (struct slot){.format = NULL};
    return unused;
}

static void write_summaries(const struct slot *ended, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char message[MESSAGE_MAX];
        snprintf(message, sizeof message, "%s … and %u more like it", ended[i].like,
                 ended[i].seen - REPEATS_MAX);
        write_line(ended[i].level, message);
    }
}

static void sweep_at_exit(void)
{
    struct slot ended[SLOTS];

    pthread_mutex_lock(&repeats.mutex);
    size_t count = sweep(INT64_MAX, ended);
    pthread_mutex_unlock(&repeats.mutex);
    write_summaries(ended, count);
}

/* Counts one more line of this format; returns its number within the second, or 0 when it is not to
 * be written. */
static unsigned admit(enum log_level level, const char *format)
{
    struct slot ended[SLOTS];
    int64_t now_us = clock_mono_us();
    unsigned place = 1;

    pthread_mutex_lock(&repeats.mutex);
    size_t count = sweep(now_us, ended);
    struct slot *slot = find_slot(format, now_us);
    if (slot != NULL) {
        if (slot->format == NULL) {
            *slot = (struct slot){format, level, now_us + CLOCK_US_PER_S, 0, ""};
            snprintf(slot->like, sizeof slot->like, "%s", format); /* until there is a last line */
        }
        slot->seen++;
        place = slot->seen <= REPEATS_MAX ? slot->seen : 0;
        if (place == 0 && slot->ends_us < repeats.next_sweep_us)
            repeats.next_sweep_us = slot->ends_us;
    }
    if (place == 0 && !repeats.at_exit)
        repeats.at_exit = atexit(sweep_at_exit) == 0;
    pthread_mutex_unlock(&repeats.mutex);

    write_summaries(ended, count);
    return place;
}

static void remember(const char *format, const char *message)
{
    pthread_mutex_lock(&repeats.mutex);
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &repeats.slots[i];
        if (slot->format != NULL && strcmp(slot->format, format) == 0)
            snprintf(slot->like, sizeof slot->like, "%.*s", LIKE_MAX - 1, message);
    }
    pthread_mutex_unlock(&repeats.mutex);
}

void log_write(enum log_level level, const char *format, ...)
{
    if (!log_enabled(level))
        return;

    int saved_errno = errno;
    unsigned place = admit(level, format);
    if (place > 0) {
        char message[MESSAGE_MAX];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        write_line(level, message);
        if (place == REPEATS_MAX)
            remember(format, message);
    }
    errno = saved_errno;
}
