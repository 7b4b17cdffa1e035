/* What http_client.h says about JSON bodies. */
#include "lib/t.h"

#include "lib/http/http_client.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *load(const struct http_reply *reply)
{
    json_error_t error;
    json_t *root = json_loadb(reply->body, reply->body_length,
                              JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);

    if (!root)
        fail_msg("the body is no JSON (%s): %s", error.text, reply->body);
    return root;
}

/* Borrowed from `root`; NULL when there is no such member. */
static json_t *find(json_t *root, const char *path)
{
    char name[64];

    while (root && *path) {
        size_t length = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        root = json_is_array(root) ? json_array_get(root, strtoul(name, NULL, 10))
                                   : json_object_get(root, name);
        path += length + (path[length] == '.');
    }
    return root;
}

static json_t *must_find(const struct http_reply *reply, const char *path, json_t **root)
{
    *root = load(reply);
    json_t *at = find(*root, path);

    if (!at) {
        json_decref(*root);
        fail_msg("there is no \"%s\" in %s", path, reply->body);
    }
    return at;
}

static void expect(bool right, const struct http_reply *reply, const char *path, const char *type)
{
    if (!right)
        fail_msg("\"%s\" is no %s in %s", path, type, reply->body);
}

int64_t http_reply_int(const struct http_reply *reply, const char *path)
{
    json_t *root;
    json_t *at = must_find(reply, path, &root);
    bool right = json_is_integer(at);
    int64_t value = json_integer_value(at);

    json_decref(root);
    expect(right, reply, path, "integer");
    return value;
}

bool http_reply_bool(const struct http_reply *reply, const char *path)
{
    json_t *root;
    json_t *at = must_find(reply, path, &root);
    bool right = json_is_boolean(at);
    bool value = json_is_true(at);

    json_decref(root);
    expect(right, reply, path, "boolean");
    return value;
}

bool http_reply_is_null(const struct http_reply *reply, const char *path)
{
    json_t *root;
    json_t *at = must_find(reply, path, &root);
    bool value = json_is_null(at);

    json_decref(root);
    return value;
}

void http_reply_text(const struct http_reply *reply, const char *path, char *out, size_t size)
{
    json_t *root;
    json_t *at = must_find(reply, path, &root);
    bool right = json_is_string(at);

    snprintf(out, size, "%s", right ? json_string_value(at) : "");
    json_decref(root);
    expect(right, reply, path, "string");
}

int http_reply_count(const struct http_reply *reply, const char *path)
{
    json_t *root;
    json_t *at = must_find(reply, path, &root);
    bool right = json_is_array(at);
    size_t count = json_array_size(at);

    json_decref(root);
    expect(right, reply, path, "array");
    return (int)count;
}

void http_reply_code(const struct http_reply *reply, char *out, size_t size)
{
    char type[64] = "";

    *out = '\0';
    if (http_reply_header(reply, "Content-Type", type, sizeof type) &&
        strncmp(type, "application/problem+json", 24) == 0)
        http_reply_text(reply, "code", out, size);
}
