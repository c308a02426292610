-- Returns the turns that there are at indices of conversations, a line each (a turn as JSON has no line ends).
-- KEYS: the logs.  ARGV: the indices of each, as JSON.
local found = {}
for number, indices in ipairs(cjson.decode(ARGV[1])) do
  for _, value in ipairs(redis.call('HMGET', KEYS[number], unpack(indices))) do
    if value then found[#found + 1] = value end
  end
end
return table.concat(found, '\n')
