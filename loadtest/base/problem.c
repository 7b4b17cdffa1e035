/* See problem.h. */
#include "loadtest/base/problem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool problem_set(struct problem *problem, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
    return false;
}

bool problem_prefix(struct problem *problem, const char *format, ...)
{
    char front[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(front, sizeof front, format, arguments);
    va_end(arguments);

    /* Makes room in place; what then does not fit is cut off at the end. */
    size_t size = sizeof problem->text;
    size_t length = strlen(front);
    memmove(problem->text + length + 2, problem->text, size - length - 2);
    memcpy(problem->text, front, length);
    memcpy(problem->text + length, ": ", 2);
    problem->text[size - 1] = '\0';
    return false;
}

int problem_exit(const char *text)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
    return 2;
}
