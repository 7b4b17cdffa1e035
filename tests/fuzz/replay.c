/*
 * In place of libFuzzer, where that is not built in: calls the target with each file of the folders
 * that are named, and with nothing. A folder without files is an error: nothing would be replayed.
 */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUT_MAX = 1 << 20, PATH_SIZE = 4096 };

static bool replay_file(const char *path)
{
    static uint8_t bytes[INPUT_MAX];
    FILE *from = fopen(path, "re");

    if (!from) {
        perror(path);
        return false;
    }
    size_t size = fread(bytes, 1, sizeof bytes, from);
    bool whole = !ferror(from) && feof(from);
    fclose(from);
    if (!whole) {
        fprintf(stderr, "%s: it cannot be read, or has more than %d bytes\n", path, INPUT_MAX);
        return false;
    }
    fprintf(stderr, "%s\n", path); /* the last one is to blame when the target ends it */
    LLVMFuzzerTestOneInput(bytes, size);
    return true;
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool replay_folder(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_input, alphasort);
    bool good = count > 0;

    if (!good)
        fprintf(stderr, "%s: no folder, or nothing in it\n", folder);
    for (int i = 0; i < count; i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        good = replay_file(path) && good;
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return good;
}

int main(int argc, char **argv)
{
    bool good = argc > 1;

    LLVMFuzzerTestOneInput(NULL, 0);
    for (int i = 1; i < argc; i++)
        good = replay_folder(argv[i]) && good;
    return good ? 0 : 1;
}
