/* See pasted.h. */
#include "loadtest/shop/draft/pasted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 400, HEADERS_MAX = 64, BYTES_MAX = 256 * 1024 };

/* A command that is being read. */
struct pasting {
    const char *file, *text; /* borrowed */
    struct pool *pool;
    struct shop_request *out;
    struct error *error;
    const char *at; /* while it is cut */
    char *to;       /* behind the last character of the word */
};

/* The file's text; NULL: `error` says why. */
static char *read_text(const char *file, struct pool *pool, struct error *error)
{
    FILE *from = fopen(file, "re");
    char *text = pool_take(pool, BYTES_MAX + 2);
    if (!from) {
        error_fail(error, "%.300s: %s", file, strerror(errno));
        return NULL;
    }
    size_t length = fread(text, 1, BYTES_MAX + 1, from);
    bool good = !ferror(from) && length <= BYTES_MAX && strlen(text) == length;
    fclose(from);
    if (!good)
        error_fail(error, "%.300s: no text of %d bytes at most", file, BYTES_MAX);
    return good ? text : NULL;
}

/* --- a shell's words --- */

static bool refuse(const struct pasting *is, const char *where, const char *what)
{
    int line = 1;
    for (const char *c = is->text; c < where; c++)
        line += *c == '\n';
    return error_fail(is->error, "%.300s:%d: %s", is->file, line, what);
}

static void put_utf8(struct pasting *is, unsigned long code)
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
static void cut_escape(struct pasting *is)
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
static bool cut_quoted(struct pasting *is, char kind)
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

static bool cut_word(struct pasting *is)
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
static bool skip_blanks(struct pasting *is)
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

/* Cuts a command into words as bash does: quotes of three kinds, backslashes, lines that go on.
 * What stands behind the command (a pipe, a second line) is left out. The array ends with NULL. */
static const char **words_of(struct pasting *is)
{
    const char **words = pool_take(is->pool, (WORDS_MAX + 1) * sizeof *words);
    size_t count = 0;
    is->at = is->text + strspn(is->text, " \t\r\n");
    is->to = pool_take(is->pool, 2 * strlen(is->text) + WORDS_MAX + 1);
    while (skip_blanks(is)) {
        if (count == WORDS_MAX) {
            refuse(is, is->at, "too many words");
            return NULL;
        }
        words[count++] = is->to;
        if (!cut_word(is))
            return NULL;
    }
    return words;
}

/* --- the command --- */

/* What an option of curl's means here. */
enum meaning { METHOD, HEADER, DATA, RAW_DATA, JSON, COOKIE, URL, SKIP, SKIP_WITH_VALUE };

static const struct option {
    const char *name;
    char letter;
    enum meaning meaning;
} OPTIONS[] = {
    {"request", 'X', METHOD},
    {"header", 'H', HEADER},
    {"data", 'd', DATA},
    {"data-ascii", 0, DATA},
    {"data-binary", 0, DATA},
    {"data-raw", 0, RAW_DATA},
    {"json", 0, JSON},
    {"cookie", 'b', COOKIE},
    {"url", 0, URL},
    {"silent", 's', SKIP},
    {"show-error", 'S', SKIP},
    {"include", 'i', SKIP},
    {"verbose", 'v', SKIP},
    {"insecure", 'k', SKIP},
    {"location", 'L', SKIP},
    {"fail", 'f', SKIP},
    {"globoff", 'g', SKIP},
    {"no-buffer", 'N', SKIP},
    {"compressed", 0, SKIP},
    {"http1.1", 0, SKIP},
    {"http2", 0, SKIP},
    {"user-agent", 'A', SKIP_WITH_VALUE},
    {"referer", 'e', SKIP_WITH_VALUE},
    {"output", 'o', SKIP_WITH_VALUE},
    {"max-time", 'm', SKIP_WITH_VALUE},
    {"connect-timeout", 0, SKIP_WITH_VALUE},
    {"write-out", 'w', SKIP_WITH_VALUE},
};

static const struct option *find_option(const char *name, char letter)
{
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++)
        if (name ? strcmp(OPTIONS[i].name, name) == 0 : OPTIONS[i].letter == letter)
            return &OPTIONS[i];
    return NULL;
}

static bool add_header(struct pasting *is, const char *name, const char *value)
{
    struct shop_request *out = is->out;
    if (out->header_count == HEADERS_MAX)
        return error_fail(is->error, "%.300s: too many headers", is->file);
    out->headers[out->header_count++] = (struct shop_pair){name, value + strspn(value, " ")};
    return true;
}

static bool add_data(struct pasting *is, const char *value, bool may_be_file)
{
    const char *before = is->out->body;
    if (may_be_file && *value == '@')
        return error_fail(is->error,
                          "%.300s: its body stands in the file %.100s: write it into the command",
                          is->file, value + 1);
    is->out->body = before ? pool_text(is->pool, "%s&%s", before, value) : value;
    return true;
}

/* The path and query of "http://host:1/buy?a=b#c", whose host the target need not share. */
static bool take_url(struct pasting *is, const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *path = scheme ? scheme + 3 : url;
    path += strcspn(path, "/?#");
    if (is->out->url)
        return error_fail(is->error, "%.300s: two addresses, %.100s is the second: paste one",
                          is->file, url);
    is->out->url =
        pool_text(is->pool, "%s%.*s", *path == '/' ? "" : "/", (int)strcspn(path, "#"), path);
    return true;
}

static bool take_option(struct pasting *is, const struct option *option, const char *value)
{
    const char *colon = strchr(value, ':');
    switch (option->meaning) {
    case METHOD:
        is->out->method = value;
        return true;
    case HEADER:
        return !colon ||
               add_header(is, pool_text(is->pool, "%.*s", (int)(colon - value), value), colon + 1);
    case DATA:
    case RAW_DATA:
    case JSON:
        if (option->meaning == JSON)
            is->out->body_form = FILL_JSON;
        return add_data(is, value, option->meaning != RAW_DATA);
    case COOKIE:
        return add_header(is, "Cookie", value);
    case URL:
        return take_url(is, value);
    case SKIP:
    case SKIP_WITH_VALUE:
        break;
    }
    return true;
}

/* One word, and the one behind it where that is its value. */
static bool take_word(struct pasting *is, const char ***at)
{
    const char *word = *(*at)++;
    if (word[0] != '-' || word[1] == '\0')
        return take_url(is, word);
    bool is_long = word[1] == '-';
    for (const char *letter = word + 1; *letter; letter++) {
        const struct option *option = find_option(is_long ? word + 2 : NULL, *letter);
        if (!option)
            return error_fail(is->error,
                              "%.300s: what %.60s does cannot be said in a target file: send the "
                              "purchase with -X, -H and --data-raw",
                              is->file, word);
        if (option->meaning == SKIP && !is_long)
            continue;
        bool attached = !is_long && letter[1];
        const char *value = option->meaning == SKIP ? "" : attached ? letter + 1 : *(*at);
        if (!value)
            return error_fail(is->error, "%.300s: %.60s has no value", is->file, word);
        *at += option->meaning != SKIP && !attached;
        return take_option(is, option, value);
    }
    return true;
}

static bool is_json_text(const char *text)
{
    text += strspn(text, " \t\r\n");
    return *text == '{' || *text == '[';
}

bool pasted_read_curl(const char *file, struct pool *pool, struct shop_request *out,
                      struct error *error)
{
    struct pasting is = {.file = file,
                         .text = read_text(file, pool, error),
                         .pool = pool,
                         .out = out,
                         .error = error};
    *out = (struct shop_request){.headers = pool_take(pool, HEADERS_MAX * sizeof *out->headers),
                                 .body_form = FILL_FORM};
    const char **at = is.text ? words_of(&is) : NULL;
    if (!at)
        return false;
    if (!*at || strcmp(*at, "curl") != 0 || strstr(is.text, "^\""))
        return error_fail(error,
                          "%.300s: no curl command for bash: in the browser, Network, the "
                          "purchase, \"Copy as cURL (bash)\"",
                          file);
    for (at++; *at;)
        if (!take_word(&is, &at))
            return false;
    if (!out->url)
        return error_fail(error, "%.300s: curl is given no address", file);
    if (out->body && is_json_text(out->body))
        out->body_form = FILL_JSON;
    if (!out->method)
        out->method = out->body ? "POST" : "GET";
    return true;
}

/* --- the answer --- */

bool pasted_read_answer(const char *file, struct pool *pool, struct pasted_answer *out,
                        struct error *error)
{
    const char *text = read_text(file, pool, error);
    *out = (struct pasted_answer){.json = NULL};
    /* A "100 Continue" and the like come first. */
    while (text && strncmp(text, "HTTP/", 5) == 0) {
        const char *status = strchr(text, ' '), *blank = strstr(text, "\n\r\n");
        const char *plain = strstr(text, "\n\n");
        out->status = status ? (int)strtol(status, NULL, 10) : 0;
        text = plain && (!blank || plain < blank) ? plain + 2 : blank ? blank + 3 : "";
    }
    if (text && (out->status < 100 || out->status > 599))
        return error_fail(error,
                          "%.300s: no answer with its status (HTTP/1.1 200 OK): keep what "
                          "curl -i prints",
                          file);
    out->body = text;
    out->json = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    return text != NULL;
}
