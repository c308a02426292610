-- Put before scripts that write what is kept for some time.
-- So long after what is in it arrived (ms), whenever that is read again; but for a day at least: while a topic is
-- read from its beginning, what is going on has only its oldest part.  `live`: seconds, 0: for ever.
local DAY = 86400000
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

local function keep(key, arrived, live)
  if live <= 0 then return redis.call('PERSIST', key) end
  local longest = live * 1000
  local left = math.min(redis.call('PTTL', key), longest)
  local kept = math.max(math.min(arrived - now, 0) + longest, math.min(DAY, longest), left)
  return redis.call('PEXPIREAT', key, string.format('%.0f', now + kept))
end
