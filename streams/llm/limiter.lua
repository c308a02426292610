-- May one more call be made now?  KEYS[1]: hash of the model's limits, KEYS[2]: sorted set of its open calls.
-- ARGV: calls and tokens per minute, most open calls, the call's name, its tokens, ms after which it is given up.
-- Returns 0 if it may, and notes it; else for how many ms it may not; -1 if too many are open.
-- Two leaky buckets (GCRA): a tenth of a minute's allowance at once, nine tenths of it spread over the minute, so
-- that no minute sees more than the allowance.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local paused = tonumber(redis.call('HGET', KEYS[1], 'paused') or '0')
if paused > now then return math.ceil(paused - now) end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[3]) then return -1 end
local burst = 6000
local wait, full = 0, {}
local takes = {calls = 1, tokens = tonumber(ARGV[5])}
local allowed = {calls = tonumber(ARGV[1]), tokens = tonumber(ARGV[2])}
for _, what in ipairs({'calls', 'tokens'}) do
  local each = 60000 / (0.9 * allowed[what])
  local at = math.max(tonumber(redis.call('HGET', KEYS[1], what) or '0'), now)
  full[what] = at + takes[what] * each
  -- What is larger than the whole bucket may go when the bucket is empty.
  wait = math.max(wait, math.min(full[what] - now - burst / 0.9, at - now))
end
if wait > 0 then return math.ceil(wait) end
redis.call('HSET', KEYS[1], 'calls', full.calls, 'tokens', full.tokens)
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[6]), ARGV[4])
redis.call('PEXPIRE', KEYS[1], 3600000)
redis.call('PEXPIRE', KEYS[2], 3600000)
return 0
