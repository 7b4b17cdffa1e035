/* See value.h. */
#include "loadtest/zoo/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const figures[ZOO_FIGURES] = {
    [FIGURE_NUMBER] = "{number}", [FIGURE_STOCK] = "{stock}", [FIGURE_LEFT] = "{left}",
    [FIGURE_EPOCH] = "{epoch}",   [FIGURE_FENCE] = "{fence}", [FIGURE_CAS] = "{cas}",
};

size_t zoo_value_name(const char *text)
{
    size_t letters = *text == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz") : 0;
    return letters && text[letters + 1] == '}' ? letters + 2 : 0;
}

/* ZOO_FIGURES: none of them. */
static int find_figure(const char *text)
{
    int i = 0;
    while (i < ZOO_FIGURES && strncmp(text, figures[i], strlen(figures[i])) != 0)
        i++;
    return i;
}

bool zoo_value_exists(const char *text)
{
    return find_figure(text) < ZOO_FIGURES || strncmp(text, "{letter}", 8) == 0 ||
           strncmp(text, "{prefix}", 8) == 0;
}

static void add(char *to, const char *text)
{
    size_t used = strlen(to);
    snprintf(to + used, ZOO_VALUE_SIZE - used, "%s", text);
}

void zoo_value_fill(struct zoo_value *out, const struct zoo_stage *stage,
                    const struct zoo_buyer *buyer, const char *text)
{
    *out = (struct zoo_value){.sent = ""};
    while (*text) {
        char value[80];
        bool known = zoo_value_exists(text);
        int figure = find_figure(text);
        if (*text == '@') /* shown without what makes the key the zoo's own */
            snprintf(value, sizeof value, "%s:", stage->prefix);
        else if (figure < ZOO_FIGURES)
            snprintf(value, sizeof value, "%" PRId64, buyer->figures[figure]);
        else if (known && text[1] == 'p')
            snprintf(value, sizeof value, "%s", stage->prefix);
        else
            snprintf(value, sizeof value, "%c", known ? 'A' + (int)buyer->column : *text);
        add(out->sent, value);
        add(out->shown, *text == '@' ? "" : value);
        text += known ? zoo_value_name(text) : 1;
    }
}

bool zoo_value_word(const char **at, char out[ZOO_VALUE_SIZE])
{
    const char *text = *at + strspn(*at, " ");
    bool quoted = *text == '"';
    size_t used = 0;
    if (!*text)
        return false;
    for (text += quoted; *text && *text != (quoted ? '"' : ' '); text++) {
        char byte = *text;
        if (used + 1 == ZOO_VALUE_SIZE)
            return false;
        if (byte == '\\' && (text[1] == 'r' || text[1] == 'n'))
            byte = *++text == 'r' ? '\r' : '\n';
        out[used++] = byte;
    }
    out[used] = '\0';
    *at = text + (quoted && *text);
    return true;
}

int zoo_value_words(struct zoo_value out[ZOO_WORDS], const struct zoo_stage *stage,
                    const struct zoo_buyer *buyer, const char *text)
{
    char word[ZOO_VALUE_SIZE];
    int count = 0;
    while (count < ZOO_WORDS && zoo_value_word(&text, word))
        zoo_value_fill(&out[count++], stage, buyer, word);
    return count;
}
