/* See terminal.h. */
#include "loadtest/base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 80 };

bool terminal_rewrites(FILE *stream)
{
    const char *kind = getenv("TERM");
    return kind && *kind && strcmp(kind, "dumb") != 0 && isatty(fileno(stream));
}

bool terminal_has_colours(FILE *stream)
{
    const char *refused = getenv("NO_COLOR");
    return !(refused && *refused) && terminal_rewrites(stream);
}

int terminal_columns(FILE *stream)
{
    struct winsize size = {.ws_col = 0};
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                            : USUAL_COLUMNS;
}
