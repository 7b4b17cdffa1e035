/*
 * GET /: the live page (page.html, page.css, texts.js, page.js), which is one file when it is built
 * into the binary. It is the same for everyone and holds no secret: what it shows, its script asks
 * for over the contract. The policy that goes with it names its style and its script by their
 * hashes (cmake/page.cmake), so nothing else runs in it, whatever a product is called.
 */
#include "api/handlers.h"
#include "http/reply.h"
#include "live_page.h"

#include <string.h>

static enum MHD_Result answer_page(struct request *request)
{
    return reply_page(request, PAGE_POLICY, strndup((const char *)live_page, live_page_length));
}

void service_page(struct request *request)
{
    if (request_query(request, NULL, 0))
        request->answer = answer_page;
}
