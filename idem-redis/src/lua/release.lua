-- C8. ARGV: token, attempt.
local r, answer = held()
if not r then return answer end
redis.call('DEL', key)
return {'D'}
