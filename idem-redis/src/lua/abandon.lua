-- C7. ARGV: token, attempt.
local r, answer = held()
if not r then return answer end
if r.abandoned == 0 then
  r.lease_end, r.abandoned = now, 1
  count_retention(r, now)
  write(r)
end
return {'D'}
