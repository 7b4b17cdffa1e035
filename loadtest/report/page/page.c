/* See page.h. */
#include "loadtest/report/page/page.h"

#include "gen/page_html.h"
#include "loadtest/report/files.h"

#include <stdlib.h>
#include <string.h>

/* Writes the frame up to the marker, or with NULL its rest; returns where it goes on. */
static const char *write_up_to(FILE *to, const char *at, const char *marker)
{
    const char *end = (const char *)page_html + page_html_length;
    const char *found = marker ? memmem(at, (size_t)(end - at), marker, strlen(marker)) : NULL;

    fwrite(at, 1, (size_t)((found ? found : end) - at), to);
    return found ? found + strlen(marker) : end;
}

/* Within a script's element no text may look like its end, or like a comment's begin. */
static void write_json(FILE *to, const char *text)
{
    for (; *text; text++)
        if (*text == '<')
            fputs("\\u003c", to);
        else
            fputc(*text, to);
}

bool page_write(const char *folder, void (*write)(FILE *to, const void *context),
                const void *context, json_t *drawn, struct error *error)
{
    char *text = drawn ? json_dumps(drawn, JSON_COMPACT | JSON_REAL_PRECISION(10)) : NULL;
    FILE *file = text ? files_create(folder, "report.html", error) : NULL;

    json_decref(drawn);
    if (!file) {
        free(text);
        return text ? false : error_fail(error, "report.html: out of memory");
    }
    const char *at = write_up_to(file, (const char *)page_html, "<!--content-->");
    write(file, context);
    at = write_up_to(file, at, "<!--document-->");
    write_json(file, text);
    write_up_to(file, at, NULL);
    free(text);
    return files_close(file, "report.html", error);
}

void page_add_file(json_t *files, const char *folder, const char *name)
{
    struct error ignored;
    char *text = NULL;
    size_t size = 0;
    FILE *to = folder ? open_memstream(&text, &size) : NULL;
    bool copied = to && files_copy(folder, name, to, &ignored);

    if (to && fclose(to) == 0 && copied)
        json_object_set_new(files, name, json_stringn(text, size));
    free(text);
}
