-- May a call that costs so much at most be made within a tenant's budget of the day?
-- KEYS[1]: hash of what the tenant has spent, by day; KEYS[2]: hash of what its open calls may cost, by name.
-- ARGV: the day, US dollars, the budget, the call's name, ms after which the call is given up.
-- Returns 1 if it may, and notes it; else 0.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local taken = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0') + tonumber(ARGV[2])
local open = redis.call('HGETALL', KEYS[2])
for at = 1, #open, 2 do
  local until_ms, dollars = string.match(open[at + 1], '^(%d+) (.+)$')
  if tonumber(until_ms) <= now then
    redis.call('HDEL', KEYS[2], open[at])
  else
    taken = taken + tonumber(dollars)
  end
end
if taken > tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[2], ARGV[4], string.format('%d %s', now + tonumber(ARGV[5]), ARGV[2]))
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1
