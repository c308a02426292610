-- Take records of one partition of models.memo.v1 into the view, unless somebody else was faster.
-- KEYS[1]: marks.  ARGV: the partition, the mark that the records follow on, the next one.  Then per record two
-- keys (of the answer, of what its tenant has spent) and three arguments (the record's value or "", day, dollars).
-- Returns -1 if the mark is another; else the numbers (from 1) of records that say something else than an earlier
-- one of their key, which stays.
local known = redis.call('HGET', KEYS[1], ARGV[1]) or '0'
if known ~= ARGV[2] then return -1 end
local later = {}
for number = 1, (#KEYS - 1) / 2 do
  local answer, spent = KEYS[2 * number], KEYS[2 * number + 1]
  local value, day, dollars = ARGV[3 * number + 1], ARGV[3 * number + 2], ARGV[3 * number + 3]
  if day == 'erased' then
    -- What was erased of a conversation: of whom, and up to when (ms); as long as the topic says so.
    local who, before = dollars, tonumber(redis.call('HGET', answer, dollars) or '0')
    if tonumber(value) > before then redis.call('HSET', answer, who, value) end
    redis.call('PEXPIRE', answer, 2592000000)
  elseif value == '' then
    redis.call('DEL', answer)
  else
    local before = redis.call('GET', answer)
    if not before then
      redis.call('SET', answer, value)
    elseif before ~= value then
      later[#later + 1] = number
    end
    if before ~= value then redis.call('HINCRBYFLOAT', spent, day, dollars) end
  end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return later
