/* seckill-pages FORM PROGRAM: prints a man page, or a shell's completion. The build runs it; it is
 * not installed. */
#include "loadtest/commands/line/command_line.h"
#include "pages/pages.h"
#include "settings/settings.h"

#include <string.h>

int main(int argc, char **argv)
{
    const char *form = argc == 3 ? argv[1] : "";
    bool server = argc == 3 && strcmp(argv[2], settings_program.name) == 0;
    const struct option_program *program = server ? &settings_program : &options_program;
    if (strcmp(form, "man") == 0)
        pages_man(stdout, program, server ? 8 : 1);
    else if (strcmp(form, "bash") == 0)
        pages_bash(stdout, program);
    else if (strcmp(form, "zsh") == 0)
        pages_zsh(stdout, program);
    else if (strcmp(form, "fish") == 0)
        pages_fish(stdout, program);
    else
        return 2;
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
