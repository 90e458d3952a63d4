-- Moves the instants of every record under a prefix back: as if that much time had passed.
local by, moved = tonumber(ARGV[2]), 0
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local value = redis.call('GET', key)
  local ends = redis.call('PEXPIRETIME', key)
  local function earlier(instant) return math.max(instant - by, 0) end
  if string.byte(value, 2) == 2 then
    local written = struct.unpack('>I8', value, 3)
    local first, last, retention, retention_end = struct.unpack('>I8I8I8I8', value, 49)
    local rest = string.sub(value, 81)
    if string.byte(value, 102) == 0 then
      local lease_end = struct.unpack('>I8', value, 103)
      rest = string.sub(value, 81, 102) .. struct.pack('>I8', earlier(lease_end)) .. string.sub(value, 111)
    end
    value = string.sub(value, 1, 2) .. struct.pack('>I8', earlier(written)) .. string.sub(value, 11, 48)
      .. struct.pack('>I8I8I8I8', earlier(first), earlier(last), retention, earlier(retention_end)) .. rest
  end
  redis.call('SET', key, value)
  if ends >= 0 then redis.call('PEXPIREAT', key, string.format('%.0f', ends - by)) end
  moved = moved + 1
end
return moved
