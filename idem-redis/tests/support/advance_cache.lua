-- Moves the instants of every cached value under a prefix back.
local by = tonumber(ARGV[2])
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local value = redis.call('GET', key)
  local put, ends = struct.unpack('>I8I8', value, 2)
  local function earlier(instant) return math.max(instant - by, 0) end
  value = string.sub(value, 1, 1) .. struct.pack('>I8I8', earlier(put), earlier(ends)) .. string.sub(value, 18)
  redis.call('SET', key, value, 'PXAT', string.format('%.0f', math.max(ends - by, 1)))
end
