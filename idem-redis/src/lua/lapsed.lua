-- P2, of what is in flight without a live lease; of anything else, nothing is sent.
local r, problem = read()
if problem then return problem end
if not r or r.state ~= 0 or is_live(r) or is_expired(r) then return {} end
return {'V', now, encoded(r)}
