-- Returns the turns that there are at indices of conversations, a line each (a turn as JSON has no line ends).
-- KEYS: the logs.  ARGV: the indices of each, as JSON.
-- A call takes some thousands of arguments at most.
local found, most = {}, 1000
for number, indices in ipairs(cjson.decode(ARGV[1])) do
  for first = 1, #indices, most do
    local last = math.min(first + most - 1, #indices)
    for _, value in ipairs(redis.call('HMGET', KEYS[number], unpack(indices, first, last))) do
      if value then found[#found + 1] = value end
    end
  end
end
return table.concat(found, '\n')
