/* A shell's words: see draft_parts.h. */
#include "loadtest/shop/draft/draft_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 400 };

/* A command that is being cut. */
struct cutting {
    const char *file, *text; /* borrowed */
    const char *at;
    char *to; /* behind the last character of the word */
    struct error *error;
};

char *pasted_text(const char *file, struct pool *pool, struct error *error)
{
    FILE *from = fopen(file, "re");
    char *text = from ? pool_take(pool, PASTED_BYTES_MAX + 1) : NULL;
    if (!text) {
        error_fail(error, "%.300s: %s", file, strerror(errno));
    } else {
        size_t length = fread(text, 1, PASTED_BYTES_MAX + 1, from);
        bool good = !ferror(from) && length <= PASTED_BYTES_MAX && strlen(text) == length;
        text[length <= PASTED_BYTES_MAX ? length : 0] = '\0';
        if (!good) {
            error_fail(error, "%.300s: no text of %d bytes at most", file, PASTED_BYTES_MAX);
            text = NULL;
        }
    }
    if (from)
        fclose(from);
    return text;
}

static bool refuse(const struct cutting *is, const char *where, const char *what)
{
    int line = 1;
    for (const char *c = is->text; c < where; c++)
        line += *c == '\n';
    return error_fail(is->error, "%.300s:%d: %s", is->file, line, what);
}

static void put_utf8(struct cutting *is, unsigned long code)
{
    if (code < 0x80)
        *is->to++ = (char)code;
    else if (code < 0x800)
        *is->to++ = (char)(0xc0 | code >> 6);
    else {
        *is->to++ = (char)(0xe0 | code >> 12);
        *is->to++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    if (code >= 0x80)
        *is->to++ = (char)(0x80 | (code & 0x3f));
}

/* Behind the backslash of $'…'. */
static void cut_escape(struct cutting *is)
{
    static const char names[] = "nrtab", values[] = "\n\r\t\a\b";
    char c = *is->at++, *end = NULL;
    const char *name = c ? strchr(names, c) : NULL;
    if (c == 'u' || c == 'x') {
        char digits[5] = "";
        memcpy(digits, is->at, strnlen(is->at, c == 'u' ? 4 : 2));
        put_utf8(is, strtoul(digits, &end, 16));
        is->at += end - digits;
    } else if (c) {
        *is->to++ = (char)(name ? values[name - names] : c);
    } else {
        is->at--;
    }
}

/* From the opening quote to behind the one that closes it. `kind`: ' or " or, of $'…', $. */
static bool cut_quoted(struct cutting *is, char kind)
{
    const char *opened = is->at;
    const char close = (char)(kind == '$' ? '\'' : kind);
    for (is->at += kind == '$' ? 2 : 1; *is->at && *is->at != close;) {
        if (kind == '$' && *is->at == '\\') {
            is->at++;
            cut_escape(is);
        } else {
            if (kind == '"' && *is->at == '\\' && is->at[1] && strchr("$`\"\\\n", is->at[1]))
                is->at++;
            *is->to++ = *is->at++;
        }
    }
    return *is->at++ != '\0' || refuse(is, opened, "the quote that opens here is never closed");
}

static bool cut_word(struct cutting *is)
{
    while (*is->at && !strchr(" \t\r\n|;&>", *is->at)) {
        bool ansi = is->at[0] == '$' && is->at[1] == '\'';
        if (ansi || *is->at == '\'' || *is->at == '"') {
            if (!cut_quoted(is, *is->at))
                return false;
            continue;
        }
        if (*is->at == '\\' && is->at[1])
            is->at++;
        *is->to++ = *is->at++;
    }
    *is->to++ = '\0';
    return true;
}

/* To the next word of the command; false: there is none. */
static bool skip_blanks(struct cutting *is)
{
    for (;;) {
        is->at += strspn(is->at, " \t\r");
        size_t goes_on = strncmp(is->at, "\\\n", 2) == 0     ? 2
                         : strncmp(is->at, "\\\r\n", 3) == 0 ? 3
                                                             : 0;
        if (goes_on == 0)
            return *is->at && !strchr("\n|;&>", *is->at);
        is->at += goes_on;
    }
}

const char **pasted_words(const char *file, const char *text, struct pool *pool,
                          struct error *error)
{
    const char **words = pool_take(pool, (WORDS_MAX + 1) * sizeof *words);
    struct cutting is = {file, text, text + strspn(text, " \t\r\n"), NULL, error};
    size_t count = 0;
    is.to = pool_take(pool, 2 * strlen(text) + WORDS_MAX + 1);
    if (!words || !is.to) {
        error_fail(error, "out of memory");
        return NULL;
    }
    while (skip_blanks(&is)) {
        if (count == WORDS_MAX) {
            refuse(&is, is.at, "too many words");
            return NULL;
        }
        words[count++] = is.to;
        if (!cut_word(&is))
            return NULL;
    }
    return words;
}
