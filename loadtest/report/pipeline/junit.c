/* See gate.h. */
#include "loadtest/report/pipeline/gate.h"

#include "loadtest/base/pool.h"
#include "loadtest/report/files.h"
#include "loadtest/report/page/page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void junit_end(struct junit_case *one, enum junit_outcome outcome, const char *type,
               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(one->text, sizeof one->text, format, arguments);
    va_end(arguments);
    one->outcome = outcome;
    one->type = outcome == JUNIT_PASSED ? NULL : type;
}

bool junit_open(struct junit *junit, const char *path, struct error *error)
{
    *junit = (struct junit){.path = path};
    if (!*path)
        return true;
    junit->file = fopen(path, "w");
    if (!junit->file)
        return error_fail(error, "--junit: cannot write %s: %s", path, strerror(errno));
    junit->cases = memory_need(open_memstream(&junit->text, &junit->size));
    return true;
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
    if (one->type)
        write_attribute(to, "type", one->type);
    fputc('>', to);
    if (one->outcome != JUNIT_SKIPPED)
        words_text(to, one->text);
    fprintf(to, "</%s></testcase>\n", element);
}

void junit_add(struct junit *junit, const struct junit_case *one)
{
    if (!junit->cases)
        return;
    junit->counts[one->outcome]++;
    junit->count++;
    junit->seconds += one->seconds;
    write_case(junit->cases, one);
}

static void write_begin(const struct junit *junit, const char *element, const char *suite)
{
    fprintf(junit->file, "<%s", element);
    write_attribute(junit->file, "name", suite);
    fprintf(junit->file,
            " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n",
            junit->count, junit->counts[JUNIT_FAILED], junit->counts[JUNIT_ERROR],
            junit->counts[JUNIT_SKIPPED], junit->seconds);
}

bool junit_close(struct junit *junit, const char *suite, struct error *error)
{
    bool written = true;
    if (junit->file) {
        fclose(junit->cases);
        memory_need(junit->text);
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", junit->file);
        write_begin(junit, "testsuites", suite);
        write_begin(junit, "testsuite", suite);
        fwrite(junit->text, 1, junit->size, junit->file);
        fputs("</testsuite>\n</testsuites>\n", junit->file);
        written = files_close(junit->file, junit->path, error);
    }
    free(junit->text);
    *junit = (struct junit){.count = 0};
    return written;
}
