-- W1: which write of the record this is, and how long ago it was.
local r, problem = read()
if problem then return problem end
if not r then return {} end
return {'V', now - r.written, r.token .. struct.pack('>I8I4', r.written, r.revision)}
