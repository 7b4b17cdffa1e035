-- Orders of product 1, for wrk by hand: each from a buyer of its own. Copy it and change it.
--   wrk -t2 -c64 -d10s -s loadtest/wrk/order.lua 'http://127.0.0.1:8080/orders?strategy=redis-queue'
-- The harness does not use it: load/load.lua is faster, and proves more.

local threads = {}

function setup(thread) -- once a thread, before it starts
    threads[#threads + 1] = thread
    thread:set("user", #threads * 1000000000)
end

function init()
    answers = {}
end

function request()
    user = user + 1
    return wrk.format("POST", nil, nil, string.format('{"product_id": 1, "user_id": %d}', user))
end

function response(status)
    answers[tostring(status)] = (answers[tostring(status)] or 0) + 1
end

function done()
    local sums = {}
    for _, thread in ipairs(threads) do
        for status, count in pairs(thread:get("answers")) do
            sums[status] = (sums[status] or 0) + count
        end
    end
    for status, count in pairs(sums) do
        print(string.format("%s: %d", status, count)) -- 201 sold, 202 reserved, 409 sold out
    end
end
