-- The value of a record, and what the state machine says of it. Stands before every script; numbers are
-- exact up to 2^53. The layout is that of src/value.rs.
local LATEST = 9007199254740992
local key = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function after(instant, by)
  return math.min(instant + by, LATEST)
end

-- When the native command wrote the value: what lives for its retention from then on. Not before 7.0 is
-- there a command that tells it to the millisecond, and no native command either.
local function written_natively(retention)
  local ends = redis.pcall('PEXPIRETIME', key)
  if type(ends) == 'table' then
    local left = redis.call('PTTL', key)
    ends = left < 0 and left or now + left
  end
  return ends >= 0 and math.max(ends - retention, 0) or nil
end

-- The record, read by this command or by GET; nothing if there is none; nothing and an answer if it cannot be read.
local function read(by)
  local value = redis.pcall(by or 'GET', key)
  if type(value) == 'table' then
    if string.find(value.err, 'WRONGTYPE', 1, true) then return nil, {'X', 'it is not a string'} end
    return nil, value
  end
  if not value then return nil end
  local length = string.len(value)
  if length < 103 then return nil, {'X', 'it is cut short'} end
  local layout, kind, written, revision, version = struct.unpack('>BBI8I4B', value, 1)
  if layout ~= 1 or version ~= 1 then return nil, {'X', 'its format is not known'} end
  local r = {written = written, revision = revision, value = value}
  r.fingerprint = string.sub(value, 16, 48)
  r.first, r.last, r.retention, r.retention_end = struct.unpack('>I8I8I8I8', value, 49)
  r.token = string.sub(value, 81, 96)
  r.attempt, r.hold, r.state = struct.unpack('>I4BB', value, 97)
  r.tail = string.sub(value, 103)
  local known = r.hold <= 1 and r.state <= 2 and r.attempt >= 1
  if r.state == 0 then
    if length < 113 then return nil, {'X', 'it is cut short'} end
    r.lease_end, r.abandoned, r.started = struct.unpack('>I8BB', value, 103)
    r.tail = string.sub(value, 113)
    known = known and r.abandoned <= 1 and r.started <= 1
  end
  if kind == 1 and r.state == 0 then
    local base = written_natively(r.retention)
    if not base then return nil, {'X', 'its time to live was taken from it'} end
    r.written, r.first, r.last = base, base, base
    r.lease_end, r.retention_end = after(base, r.lease_end), after(base, r.retention_end)
  elseif kind ~= 2 then
    known = false
  end
  if not known then return nil, {'X', 'it makes no sense'} end
  -- A clock that was set back must not show more than was given.
  now = math.max(now, r.written)
  return r
end

-- As idem-core encodes it.
local function encoded(r)
  local flight = ''
  if r.state == 0 then flight = struct.pack('>I8BB', r.lease_end, r.abandoned, r.started) end
  return struct.pack('B', 1) .. r.fingerprint
    .. struct.pack('>I8I8I8I8', r.first, r.last, r.retention, r.retention_end)
    .. r.token .. struct.pack('>I4BB', r.attempt, r.hold, r.state) .. flight .. r.tail
end

-- The first instant at which it is expired; nothing if it never is.
local function expires_at(r)
  if r.state ~= 0 or r.abandoned == 1 then return r.retention_end end
  if r.started == 1 and r.hold == 1 then return nil end
  return math.max(r.retention_end, r.lease_end)
end

local function is_expired(r)
  local ends = expires_at(r)
  return ends ~= nil and ends <= now
end

local function is_live(r)
  return now < r.lease_end and r.abandoned == 0
end

-- Anew from now, if less than half would be left at that instant.
local function count_retention(r, instant)
  if math.max(r.retention_end - instant, 0) * 2 < r.retention then
    r.retention_end = math.max(r.retention_end, after(now, r.retention))
  end
end

-- The one write of a script: the value, and with it the time at which the server forgets it.
local function write(r)
  local value = struct.pack('>BBI8I4', 1, 2, now, (r.revision + 1) % 4294967296) .. encoded(r)
  local ends = expires_at(r)
  if ends then
    redis.call('SET', key, value, 'PXAT', string.format('%.0f', ends))
  else
    redis.call('SET', key, value)
  end
end

local function completed(r)
  return {'A', r.retention_end - now, encoded(r)}
end

-- The record in flight of the holder that ARGV names by token and attempt; otherwise nothing and an answer. GETEX
-- changes nothing here, but counts as a write: a replica, which may not have the record yet, refuses it. (And a server
-- that is out of memory takes the second write of a script: what runs can still be recorded.)
local function held()
  local r, problem = read('GETEX')
  if problem then return nil, problem end
  if not r or is_expired(r) or r.token ~= ARGV[1] or r.attempt ~= tonumber(ARGV[2]) then
    return nil, {'S'}
  end
  if r.state ~= 0 then return nil, completed(r) end
  return r
end
