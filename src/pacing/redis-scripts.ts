/**
 * Reserves slots. Keys: the gate's record, the pauses of all gates, the budget's record. Times are milliseconds of the
 * server's clock; if that was put back, or a server whose clock is behind took over, what it told goes back with it.
 * A gate without a record may have been wiped while slots were out: it begins when those are over.
 * Arguments: gate, holder, count, least spacing or nothing, spacing of the budget or nothing, what is learnt of which set rate.
 */
export const LEASE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local record = redis.call('HMGET', KEYS[1], 'next', 'holder', 'leased', 'learnt' .. ARGV[6], 'rate' .. ARGV[6],
  'version' .. ARGV[6], 'at')
local paused = redis.call('HGET', KEYS[2], ARGV[1])
local back = math.max(0, tonumber(record[7] or 0) - now)
if back > 0 then
  paused = paused and string.format('%.3f', paused - back)
  if paused then redis.call('HSET', KEYS[2], ARGV[1], paused) end
  record[1] = record[1] - back
  redis.call('HSET', KEYS[1], 'next', string.format('%.3f', record[1]), 'at', string.format('%.3f', now))
end
local spacing = math.max(tonumber(ARGV[4]) or 0, record[5] and 1000 / record[5] or 0)
local leased = tonumber(record[3] or 0)
local start = math.max(now, tonumber(record[1] or now + 250), tonumber(paused or 0))
local count = spacing > 0 and tonumber(ARGV[3]) or 0
local budget = 0
if ARGV[5] ~= '' then
  local reserved = redis.call('HMGET', KEYS[3], 'next', 'at')
  budget = (reserved[1] or 0) - math.max(0, (reserved[2] or 0) - now)
end
if budget > start + 10 then
  count = 0
  start = budget
elseif count > 0 then
  start = math.max(start, budget)
  leased = leased + count
  redis.call('HSET', KEYS[1], 'next', string.format('%.3f', start + count * spacing), 'holder', ARGV[2], 'leased', leased, 'at', string.format('%.3f', now))
  if ARGV[5] ~= '' then
    redis.call('HSET', KEYS[3], 'next', string.format('%.3f', start + ARGV[5]), 'at', string.format('%.3f', now))
  end
end
local shared = record[2] and record[2] ~= ARGV[2]
return {string.format('%.3f', start), count, string.format('%.3f', now), paused, shared and 1 or 0,
        string.format('%.6f', spacing), leased, record[4], tonumber(record[6] or 0)}`

/** Keeps a pause if none lasts longer, and tells everybody. Keys: the pauses. Arguments: gate, milliseconds, channel. */
export const PAUSE = `
local time = redis.call('TIME')
local ends = time[1] * 1000 + time[2] / 1000 + ARGV[2]
if ends > tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) then
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.3f', ends))
end
redis.call('PUBLISH', ARGV[3], ARGV[2] .. ' ' .. ARGV[1])`

/** The pauses that last, as they would be told: milliseconds and gate. Keys: the pauses. */
export const PAUSES = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local pauses = redis.call('HGETALL', KEYS[1])
local last = {}
for i = 1, #pauses, 2 do
  if tonumber(pauses[i + 1]) > now then last[#last + 1] = math.ceil(pauses[i + 1] - now) .. ' ' .. pauses[i] end
end
return last`

/**
 * Replaces what was learnt if it has the version expected. Keys: the gate's record. Arguments: the version, what was
 * learnt, its rate, the slots reserved by then: a wiped record goes on counting there; of which set rate.
 */
export const LEARN = `
local version = tonumber(redis.call('HGET', KEYS[1], 'version' .. ARGV[5]) or 0)
if version ~= tonumber(ARGV[1]) then return 0 end
local leased = math.max(tonumber(redis.call('HGET', KEYS[1], 'leased') or 0), tonumber(ARGV[4]))
redis.call('HSET', KEYS[1], 'version' .. ARGV[5], version + 1, 'learnt' .. ARGV[5], ARGV[2], 'rate' .. ARGV[5], ARGV[3],
  'leased', leased)
return 1`
