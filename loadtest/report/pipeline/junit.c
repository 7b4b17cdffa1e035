/* See junit.h. */
#include "loadtest/report/pipeline/junit.h"

#include "loadtest/base/pool.h"
#include "loadtest/report/files.h"
#include "loadtest/report/page/page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct junit_case junit_case_of(const char *group, const char *name)
{
    struct junit_case one = {.outcome = JUNIT_PASSED};
    snprintf(one.group, sizeof one.group, "%s", group);
    snprintf(one.name, sizeof one.name, "%s", name);
    return one;
}

void junit_end(struct junit_case *one, enum junit_outcome outcome, const char *type,
               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(one->text, sizeof one->text, format, arguments);
    va_end(arguments);
    one->outcome = outcome;
    snprintf(one->type, sizeof one->type, "%s", outcome == JUNIT_PASSED ? "" : type);
}

bool junit_open(struct junit *junit, const char *path, struct error *error)
{
    *junit = (struct junit){.count = 0};
    if (!*path)
        return true;
    junit->path = path;
    junit->file = fopen(path, "w");
    return junit->file || error_fail(error, "--junit: cannot write %s: %s", path, strerror(errno));
}

void junit_add(struct junit *junit, const struct junit_case *one)
{
    if (!junit->file)
        return;
    struct junit_case *added = array_add(&junit->cases, &junit->count, sizeof *added);
    junit->incomplete = junit->incomplete || !added;
    if (added)
        *added = *one;
}

static void write_attribute(FILE *to, const char *name, const char *value)
{
    fprintf(to, " %s=\"", name);
    words_text(to, value);
    fputc('"', to);
}

static void write_case(FILE *to, const struct junit_case *one)
{
    static const char *const elements[] = {[JUNIT_PASSED] = "system-out",
                                           [JUNIT_FAILED] = "failure",
                                           [JUNIT_ERROR] = "error",
                                           [JUNIT_SKIPPED] = "skipped"};
    const char *element = elements[one->outcome];
    fputs("  <testcase", to);
    write_attribute(to, "classname", one->group);
    write_attribute(to, "name", one->name);
    fprintf(to, " time=\"%.3f\"", one->seconds);
    if (one->outcome == JUNIT_PASSED && !*one->text) {
        fputs("/>\n", to);
        return;
    }
    fprintf(to, "><%s", element);
    if (one->outcome != JUNIT_PASSED)
        write_attribute(to, "message", one->text);
    if (*one->type)
        write_attribute(to, "type", one->type);
    fputc('>', to);
    if (one->outcome != JUNIT_SKIPPED)
        words_text(to, one->text);
    fprintf(to, "</%s></testcase>\n", element);
}

static void write_begin(const struct junit *junit, const char *element, const char *suite)
{
    size_t counts[JUNIT_SKIPPED + 1] = {0};
    double seconds = 0;
    for (size_t i = 0; i < junit->count; i++) {
        counts[junit->cases[i].outcome]++;
        seconds += junit->cases[i].seconds;
    }
    fprintf(junit->file, "<%s", element);
    write_attribute(junit->file, "name", suite);
    fprintf(junit->file,
            " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n",
            junit->count, counts[JUNIT_FAILED], counts[JUNIT_ERROR], counts[JUNIT_SKIPPED],
            seconds);
}

bool junit_close(struct junit *junit, const char *suite, struct error *error)
{
    bool written = true;
    if (junit->file) {
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", junit->file);
        write_begin(junit, "testsuites", suite);
        write_begin(junit, "testsuite", suite);
        for (size_t i = 0; i < junit->count; i++)
            write_case(junit->file, &junit->cases[i]);
        fputs("</testsuite>\n</testsuites>\n", junit->file);
        written = files_close(junit->file, junit->path, error);
        if (written && junit->incomplete)
            written = error_fail(error, "%s: out of memory", junit->path);
    }
    free(junit->cases);
    *junit = (struct junit){.count = 0};
    return written;
}
