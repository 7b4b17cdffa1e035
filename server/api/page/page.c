/*
 * GET /: the live page (page.html, page.css, texts.js, page.js), which is one file when it is built
 * into the binary. It is the same for everyone and holds no secret: what it shows, its script asks
 * for over the contract. The policy that goes with it names its style and its script by their
 * hashes (cmake/page.cmake), so nothing else runs in it, whatever a product is called.
 *
 * GET /zoo: how each unsafe strategy breaks, a recorded run (zoo.json), which the page asks for
 * when somebody wants to see it.
 */
#include "api/handlers.h"
#include "http/reply.h"
#include "live_page.h"
#include "zoo_json.h"

#include <string.h>

static enum MHD_Result answer_page(struct request *request)
{
    return reply_page(request, PAGE_POLICY, strndup((const char *)live_page, live_page_length));
}

void service_page(struct request *request)
{
    request->answer = answer_page; /* whatever a link to it adds */
}

static enum MHD_Result answer_zoo(struct request *request)
{
    return reply_text(request, MHD_HTTP_OK, "application/json",
                      strndup((const char *)zoo_json, zoo_json_length));
}

void service_zoo(struct request *request)
{
    if (request_query(request, NULL, 0))
        request->answer = answer_zoo;
}
