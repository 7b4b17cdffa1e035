-- What wrk sends. The harness puts one line in front of this file, a table P:
--   targets        {{host=, port=}, …}: the instances; thread i talks to target i modulo their number
--   path, token    the request's path and the admin token ("" for none)
--   headers        more lines of each request, with their ends; may be left out
--   restock        true: POST the same restock again and again; false: orders
--   user, each     the first user id of thread 0, and how many ids each thread has for itself: one an order
--   users, user_from   0, or how many users give the orders, drawn one by one, and the first one's id
--   product, products, seed   the products, and what decides who buys which
--   keys, repeats, later   may be left out; true: each order has an Idempotency-Key, this share of them is sent again, and
--                  of these every other one so many requests later, when the first has its answer; the others at once
--   watch, sold_out   may be left out; true: look at the answers for a false "sold out"; when it was answered first
-- Ids have a fixed number of digits, so that a request is a prefix, two numbers and a suffix: init() does next
-- to nothing (wrk's first thread is loading already while the others initialise) and there is no response(), but for
-- a sale whose speed nobody measures.
--
-- A false "sold out": stock only falls while orders come in, so whoever asks after somebody was told "sold out" gets
-- nothing. An order that was sent after such an answer had come, and was sold, proves the answer wrong. Times are the
-- generator's own.

local started = 0
local threads = {}

function setup(thread)
    local target = P.targets[started % #P.targets + 1]
    thread:set("number", started)
    thread.addr = wrk.lookup(target.host, target.port)[1]
    started = started + 1
    threads[started] = thread
end

local before_key, before_product, before_user, after, user, random, whole
local asked, planned, later = 0, 0, {} -- requests so far; repeats, and by the number of their request
repeats = 0 -- that were sent

function init(args)
    local target = P.targets[number % #P.targets + 1]
    local head = "POST " .. P.path .. " HTTP/1.1\r\nHost: " .. target.authority ..
        "\r\nContent-Type: application/json\r\n"
    if P.token ~= "" then
        head = head .. "Authorization: Bearer " .. P.token .. "\r\n"
    end
    head = head .. (P.headers or "")
    user = P.user + number * P.each
    random = (P.seed + number * 7919) % 2147483646 + 1
    local body = P.restock and '{"quantity":1}' or
        string.format('{"product_id":%d,"user_id":%d,"quantity":1}', P.product, user)
    local length = "Content-Length: " .. #body .. "\r\n\r\n"
    whole = P.restock and head .. length .. body
    before_key = head .. "Idempotency-Key: "
    before_product = (P.keys and "\r\n" or head) .. length .. '{"product_id":'
    before_user = ',"user_id":'
    after = ',"quantity":1}'
end

-- Park and Miller's generator: exact in a double.
local function draw()
    random = random * 16807 % 2147483647
    return random
end

-- The repeat that is due; nil: none is.
local function again()
    asked = asked + 1
    local text = later[asked]
    later[asked] = nil
    repeats = repeats + (text and 1 or 0)
    return text
end

local function plan_repeat(text)
    if draw() / 2147483647 >= P.repeats then
        return
    end
    planned = planned + 1
    local at = asked + (planned % 2 == 1 and 1 or P.later)
    while later[at] do
        at = at + 1
    end
    later[at] = text
end

function request()
    if whole then
        return whole
    end
    local due = P.keys and again()
    if due then
        return due
    end
    local product = P.product
    if P.products > 1 then
        product = product + draw() % P.products
    end
    user = user + 1
    local buyer = user
    if P.users > 0 then
        buyer = P.user_from + math.floor(draw() / 2147483647 * P.users)
    end
    if sent then
        note_sent(buyer)
    end
    local text = before_product .. product .. before_user .. buyer .. after
    if P.keys then
        text = before_key .. user .. text
        plan_repeat(text)
    end
    return text
end

if P.watch then
    local ffi = require("ffi")
    ffi.cdef("typedef struct { long s, ns; } seckill_time; int clock_gettime(int clock, seckill_time *time);")
    local time = ffi.new("seckill_time")

    function now_us() -- CLOCK_MONOTONIC
        ffi.C.clock_gettime(1, time)
        return tonumber(time.s) * 1000000 + math.floor(tonumber(time.ns) / 1000)
    end

    sent = {}     -- by user: when their orders had been sent
    sold = {}     -- when the orders that were sold had been sent
    sold_out = 0  -- when this thread was first told so

    function note_sent(buyer)
        local times = sent[buyer]
        if not times then
            times = {sold = 0}
            sent[buyer] = times
        end
        times[#times + 1] = now_us()
    end

    -- An answer does not say which of its user's orders it is. The earliest that may have been sold: so nobody is
    -- taken for a later one than they are.
    local function note_sold(times)
        if times then
            times.sold = times.sold + 1
            sold[#sold + 1] = times[times.sold]
        end
    end

    function response(status, headers, body)
        if status == 201 or status == 202 then
            note_sold(sent[tonumber(body:match('"user_id":%s*(%d+)') or 0)])
        elseif status == 409 and sold_out == 0 and body:find('"sold_out"', 1, true) then
            sold_out = now_us()
        end
    end
end

-- The first "sold out" of all threads and runs, and how many were sold what they asked for after it.
local function look_for_resold()
    local first, resold = P.sold_out or 0, 0
    for _, thread in ipairs(threads) do
        local at = thread:get("sold_out") or 0
        if at > 0 and (first == 0 or at < first) then
            first = at
        end
    end
    for _, thread in ipairs(threads) do
        for _, at in ipairs(first > 0 and thread:get("sold") or {}) do
            if at > first then
                resold = resold + 1
            end
        end
    end
    return first, resold
end

-- The histogram behind wrk's percentiles, which it keeps by the microsecond and gives away one by one, each by a walk
-- from the beginning. So it is read where it is; that it is where it is thought to be, its least and its largest say.
local function histogram(latency)
    local ffi = require("ffi")
    ffi.cdef("typedef struct { uint64_t count, limit, min, max, data[]; } seckill_stats;")
    local stats = ffi.cast("seckill_stats **", latency)[0]
    local steps = {}
    if tonumber(stats.min) ~= latency.min or tonumber(stats.max) ~= latency.max or latency.max >= tonumber(stats.limit) then
        return steps
    end
    local last, sum = 0, 0
    for us = latency.min, latency.max do
        local count = tonumber(stats.data[us])
        if count > 0 then
            -- As in latency.c: 16 steps to a power of two, each with its end in it.
            local below = math.max(us - 1, 0)
            local _, power = math.frexp(below)
            local width = 2 ^ math.max(power - 5, 0)
            local step_end = (math.floor(below / width) + 1) * width
            if step_end ~= last and sum > 0 then
                steps[#steps + 1] = string.format("%d:%d", last, sum)
                sum = 0
            end
            last, sum = step_end, sum + count
        end
    end
    if sum > 0 then
        steps[#steps + 1] = string.format("%d:%d", latency.max, sum)
    end
    return steps
end

function done(summary, latency, requests)
    local errors = summary.errors
    local sent_again = 0
    for _, thread in ipairs(threads) do
        sent_again = sent_again + thread:get("repeats")
    end
    local first, resold = look_for_resold()
    io.write(string.format(
        "seckill-wrk duration_us=%d requests=%d connect=%d read=%d write=%d status=%d timeout=%d " ..
        "p50=%d p90=%d p99=%d max=%d sold_out=%d resold=%d repeats=%d\n",
        summary.duration, summary.requests, errors.connect, errors.read, errors.write, errors.status,
        errors.timeout, latency:percentile(50), latency:percentile(90), latency:percentile(99),
        latency.max, first, resold, sent_again))
    io.write("seckill-wrk-steps ", table.concat(histogram(latency), " "), "\n")
end
