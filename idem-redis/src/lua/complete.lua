-- C1, C2, C3. ARGV: token, attempt, the answer as it stands at the end of a record.
local r, answer = held()
if not r then return answer end
r.state, r.tail = string.byte(ARGV[3], 1), string.sub(ARGV[3], 2)
count_retention(r, now)
write(r)
return {'D', r.retention_end - now}
