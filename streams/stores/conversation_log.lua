-- Writes turns of one conversation into its log.
-- KEYS: the log; who began the conversation; then for each turn its person's conversations and what was erased of its person.
-- ARGV: the conversation's name among its persons', seconds to live (0: for ever), whose it is if nobody is
-- known to have begun it, and how many characters of that are the tenant; then for each turn when its
-- conversation began and when it arrived (ms), its id, index, version and value.
-- Returns of each turn that was erased its number, and up to when it was (ms).
local log, begun, name, live = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
local refused, latest = {}, {}
for turn = 1, (#ARGV - 4) / 6 do
  local at = 5 + (turn - 1) * 6
  local began, arrived = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local id, index = ARGV[at + 2], ARGV[at + 3]
  local version, value = tonumber(ARGV[at + 4]), ARGV[at + 5]
  local person, erased = KEYS[2 * turn + 1], KEYS[2 * turn + 2]
  local known = redis.call('HMGET', log, 'began', 'erased', 'erased:' .. id, index, 'next')
  local gone = math.max(
    tonumber(redis.call('GET', erased) or -1), tonumber(known[2] or -1), tonumber(known[3] or -1))
  local life, before, following = tonumber(known[1] or -1), known[4], tonumber(known[5] or 0)
  if arrived > gone and began >= life then
    if began > life then
      -- It was forgotten and began anew: nothing of its earlier life counts.
      for _, field in ipairs(redis.call('HKEYS', log)) do
        if string.match(field, '^%d+$') then redis.call('HDEL', log, field) end
      end
      redis.call('HSET', log, 'began', ARGV[at])
      before, following = false, 0
    end
    if not before or tonumber(string.match(before, '^%d+')) < version then
      redis.call('HSET', log, index, ARGV[at + 4] .. ':' .. value,
        'next', math.max(following, tonumber(index) + 1))
      redis.call('ZADD', person, 'GT', ARGV[at + 1], name)
    end
    latest[person] = math.max(latest[person] or 0, arrived)
    latest[log] = math.max(latest[log] or 0, arrived)
  elseif arrived <= gone then
    refused[#refused + 1] = turn
    refused[#refused + 1] = string.format('%.0f', gone)
  end
end
if latest[log] then
  -- What is in the log is of this tenant, whoever else has said to begin it.
  local whose, tenant = redis.call('GET', begun), tonumber(ARGV[4])
  if not whose or string.sub(whose, 1, tenant) ~= string.sub(ARGV[3], 1, tenant) then
    redis.call('SET', begun, ARGV[3])
  end
  latest[begun] = latest[log]
end
for key, arrived in pairs(latest) do keep(key, arrived, live) end
return refused
