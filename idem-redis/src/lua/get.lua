-- P2.
local r, problem = read()
if problem then return problem end
if not r then return {} end
return {'V', now, encoded(r)}
