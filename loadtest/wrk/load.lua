-- What wrk sends. The harness puts one line in front of this file, a table P:
--   targets        {{host=, port=}, …}: the instances; thread i talks to target i modulo their number
--   path, token    the request's path and the admin token ("" for none)
--   restock        true: POST the same restock again and again; false: orders
--   user, users    the first user id of thread 0, and how many ids each thread has for itself
--   product, products, seed   the products, and what decides their order
-- Ids have a fixed number of digits, so that a request is a prefix, two numbers and a suffix: init() does next
-- to nothing (wrk's first thread is loading already while the others initialise) and there is no response().

local started = 0

function setup(thread)
    local target = P.targets[started % #P.targets + 1]
    thread:set("number", started)
    thread.addr = wrk.lookup(target.host, target.port)[1]
    started = started + 1
end

local before_product, before_user, after, user, random, whole

function init(args)
    local target = P.targets[number % #P.targets + 1]
    local head = "POST " .. P.path .. " HTTP/1.1\r\nHost: " .. target.authority ..
        "\r\nContent-Type: application/json\r\n"
    if P.token ~= "" then
        head = head .. "Authorization: Bearer " .. P.token .. "\r\n"
    end
    user = P.user + number * P.users
    random = (P.seed + number * 7919) % 2147483646 + 1
    local body = P.restock and '{"quantity":1}' or
        string.format('{"product_id":%d,"user_id":%d,"quantity":1}', P.product, user)
    head = head .. "Content-Length: " .. #body .. "\r\n\r\n"
    whole = P.restock and head .. body
    before_product = head .. '{"product_id":'
    before_user = ',"user_id":'
    after = ',"quantity":1}'
end

function request()
    if whole then
        return whole
    end
    local product = P.product
    if P.products > 1 then
        random = random * 16807 % 2147483647 -- Park and Miller's generator: exact in a double
        product = product + random % P.products
    end
    user = user + 1
    return before_product .. product .. before_user .. user .. after
end

function done(summary, latency, requests)
    local errors = summary.errors
    io.write(string.format(
        "seckill-wrk duration_us=%d requests=%d connect=%d read=%d write=%d status=%d timeout=%d " ..
        "p50=%d p90=%d p99=%d max=%d\n",
        summary.duration, summary.requests, errors.connect, errors.read, errors.write, errors.status,
        errors.timeout, latency:percentile(50), latency:percentile(90), latency:percentile(99),
        latency.max))
end
