-- C6. ARGV: token, attempt, lease, retention, the progress as it stands at the end of a record or nothing.
local r, answer = held()
if not r then return answer end
if r.abandoned == 1 then return {'S'} end
r.lease_end = math.max(r.lease_end, after(now, tonumber(ARGV[3])))
r.retention, r.started = tonumber(ARGV[4]), 1
if ARGV[5] ~= '' then r.tail = ARGV[5] end
count_retention(r, r.lease_end)
write(r)
return {'D'}
