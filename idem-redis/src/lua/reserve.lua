-- Laws R1 to R10. ARGV: token, fingerprint, lease, retention, hold, longest age or nothing.
local token, fingerprint = ARGV[1], ARGV[2]
local lease, retention, hold = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local longest_age = tonumber(ARGV[6])

local r, problem = read()
if problem then return problem end

local function reserved()
  write(r)
  return {'R', r.attempt, r.tail}
end

-- R8, R1
if not r or is_expired(r) then
  r = {
    fingerprint = fingerprint, first = now, last = now, retention = retention,
    retention_end = after(now, retention), token = token, attempt = 1, hold = hold, state = 0,
    lease_end = after(now, lease), abandoned = 0, started = 0, tail = '\0',
    revision = r and r.revision or 0,
  }
  return reserved()
end
-- R4
if r.fingerprint ~= fingerprint then return {'M'} end
-- R6
if r.state ~= 0 then return completed(r) end

local function may_be_taken_over()
  if longest_age and longest_age <= now - r.first then return false end
  local held = r.hold == 1 or hold == 1
  local may_have_run = r.started == 1 or r.hold == 0
  return r.abandoned == 1 or not held or not may_have_run
end

-- R10
if r.token == token then
  if r.started == 1 or r.abandoned == 1 then
    if not is_live(r) and not may_be_taken_over() then return {'U'} end
    return {'C', 1}
  end
  r.retention, r.lease_end = retention, after(now, lease)
  count_retention(r, r.lease_end)
  return reserved()
end
-- R3
if is_live(r) then return {'C', r.lease_end - now} end
-- R5
if not may_be_taken_over() then return {'U'} end
r.last, r.retention, r.token, r.hold = now, retention, token, hold
r.attempt = math.min(r.attempt + 1, 4294967295)
r.lease_end, r.abandoned, r.started = after(now, lease), 0, 0
count_retention(r, r.lease_end)
return reserved()
