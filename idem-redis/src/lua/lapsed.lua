-- P2, of what is in flight without a live lease; of anything else, nothing is sent.
-- Most records are completed, and may be large: their state is seen without a copy of the answer.
local head = redis.pcall('GETRANGE', key, 0, 101)
if type(head) == 'string' and string.len(head) == 102 and string.byte(head, 1) == 1 then
  local state = string.byte(head, 102)
  if state == 1 or state == 2 then return {} end
end
local r, problem = read()
if problem then return problem end
if not r or r.state ~= 0 or is_live(r) or is_expired(r) then return {} end
return {'V', now, encoded(r)}
