/*
 * Dates are computed here, with integers alone (Howard Hinnant's days_from_civil and its inverse):
 * gmtime and strptime would bring the locale, the time zone database and a range that differs by
 * platform.
 */
#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

enum { DAYS_PER_ERA = 146097, DAYS_TO_1970 = 719468, S_PER_DAY = 86400 };

#define US_PER_DAY (S_PER_DAY * CLOCK_US_PER_S)

static int64_t now_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * CLOCK_US_PER_S + now.tv_nsec / 1000;
}

int64_t clock_mono_us(void)
{
    return now_us(CLOCK_MONOTONIC);
}

int64_t clock_wall_us(void)
{
    return now_us(CLOCK_REALTIME);
}

int clock_poll_ms(int64_t deadline_us)
{
    int64_t now = clock_mono_us();
    if (deadline_us <= now)
        return 0;

    int64_t left_us = deadline_us - now;
    int64_t left_ms = left_us / CLOCK_US_PER_MS + (left_us % CLOCK_US_PER_MS != 0);
    return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

void clock_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

struct timespec clock_timespec(int64_t mono_us)
{
    if (mono_us < 0)
        mono_us = 0;
    return (struct timespec){
        .tv_sec = (time_t)(mono_us / CLOCK_US_PER_S),
        .tv_nsec = (long)(mono_us % CLOCK_US_PER_S) * 1000,
    };
}

void clock_sleep_until(int64_t deadline_us)
{
    struct timespec deadline = clock_timespec(deadline_us);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR)
        continue;
}

/* Days since 1970-01-01. The year starts in March, so that the leap day is its last. */
static int64_t days_from_civil(int year, int month, int day)
{
    int y = month <= 2 ? year - 1 : year;
    int era = (y >= 0 ? y : y - 399) / 400;
    int year_of_era = y - era * 400;
    int day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (int64_t)era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970;
}

static void civil_from_days(int64_t days, int *year, int *month, int *day)
{
    int64_t shifted = days + DAYS_TO_1970;
    int64_t era = (shifted >= 0 ? shifted : shifted - (DAYS_PER_ERA - 1)) / DAYS_PER_ERA;
    int day_of_era = (int)(shifted - era * DAYS_PER_ERA);
    int year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int march_month = (5 * day_of_year + 2) / 153;

    *day = day_of_year - (153 * march_month + 2) / 5 + 1;
    *month = march_month < 10 ? march_month + 3 : march_month - 9;
    *year = year_of_era + (int)era * 400 + (*month <= 2);
}

/* 0001-01-01 and 9999-12-31: what four digits can say. */
static int64_t first_us(void)
{
    return days_from_civil(1, 1, 1) * US_PER_DAY;
}

static int64_t last_us(void)
{
    return (days_from_civil(9999, 12, 31) + 1) * US_PER_DAY - 1;
}

static void put_digits(char *out, int width, int64_t value)
{
    for (int i = width - 1; i >= 0; i--) {
        out[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

void clock_format_rfc3339(int64_t wall_us, char out[CLOCK_RFC3339_LENGTH + 1])
{
    if (wall_us < first_us())
        wall_us = first_us();
    if (wall_us > last_us())
        wall_us = last_us();

    int64_t of_day_us = wall_us % US_PER_DAY;
    if (of_day_us < 0)
        of_day_us += US_PER_DAY;
    int year, month, day;
    civil_from_days((wall_us - of_day_us) / US_PER_DAY, &year, &month, &day);
    int64_t of_day_s = of_day_us / CLOCK_US_PER_S;

    memcpy(out, "0000-00-00T00:00:00.000000Z", CLOCK_RFC3339_LENGTH + 1);
    put_digits(out, 4, year);
    put_digits(out + 5, 2, month);
    put_digits(out + 8, 2, day);
    put_digits(out + 11, 2, of_day_s / 3600);
    put_digits(out + 14, 2, of_day_s / 60 % 60);
    put_digits(out + 17, 2, of_day_s % 60);
    put_digits(out + 20, 6, of_day_us % CLOCK_US_PER_S);
}

/* Reads exactly `width` digits, moves `*at` behind them. */
static bool take_digits(const char **at, int width, int *value)
{
    *value = 0;
    for (int i = 0; i < width; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *value = *value * 10 + (**at - '0');
    }
    return true;
}

static bool take_char(const char **at, const char *any_of)
{
    if (**at == '\0' || strchr(any_of, **at) == NULL)
        return false;
    (*at)++;
    return true;
}

static bool take_date(const char **at, int64_t *days)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;

    if (!take_digits(at, 4, &year) || !take_char(at, "-") || !take_digits(at, 2, &month) ||
        !take_char(at, "-") || !take_digits(at, 2, &day))
        return false;
    if (month < 1 || month > 12)
        return false;

    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day < 1 || day > lengths[month - 1] + (month == 2 && leap))
        return false;
    *days = days_from_civil(year, month, day);
    return true;
}

enum { FRACTION_DIGITS = 9 };

static bool take_time(const char **at, int64_t *us)
{
    int hour, minute, second;

    if (!take_digits(at, 2, &hour) || !take_char(at, ":") || !take_digits(at, 2, &minute) ||
        !take_char(at, ":") || !take_digits(at, 2, &second))
        return false;
    if (hour > 23 || minute > 59 || second > 59)
        return false;

    int64_t fraction_us = 0;
    if (take_char(at, ".")) {
        int digit;
        if (!take_digits(at, 1, &digit))
            return false;
        fraction_us = digit * INT64_C(100000);
        /* Those behind the sixth are worth nothing. */
        int64_t unit = 10000;
        for (int i = 1; i < FRACTION_DIGITS && take_digits(at, 1, &digit); i++, unit /= 10)
            fraction_us += digit * unit;
    }
    *us = (hour * INT64_C(3600) + minute * INT64_C(60) + second) * CLOCK_US_PER_S + fraction_us;
    return true;
}

static bool take_offset(const char **at, int64_t *us)
{
    *us = 0;
    if (take_char(at, "Zz"))
        return true;

    int64_t sign = **at == '-' ? -1 : 1;
    int hours, minutes;
    if (!take_char(at, "+-") || !take_digits(at, 2, &hours) || !take_char(at, ":") ||
        !take_digits(at, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *us = sign * (hours * INT64_C(3600) + minutes * INT64_C(60)) * CLOCK_US_PER_S;
    return true;
}

bool clock_parse_rfc3339(const char *text, int64_t *wall_us)
{
    const char *at = text;
    int64_t days, of_day_us, offset_us;

    if (!take_date(&at, &days) || !take_char(&at, "Tt") || !take_time(&at, &of_day_us) ||
        !take_offset(&at, &offset_us) || *at != '\0')
        return false;

    /* An offset can push the first and the last day out of what clock_format_rfc3339 can say. */
    int64_t us = days * US_PER_DAY + of_day_us - offset_us;
    if (us < first_us() || us > last_us())
        return false;
    *wall_us = us;
    return true;
}
