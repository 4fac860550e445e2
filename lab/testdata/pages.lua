-- Cycles through the first thousand pages of a host, as a crawler would.
local n = 0
request = function()
  n = (n + 1) % 1000
  if n == 0 then return wrk.format("GET", "/") end
  return wrk.format("GET", "/s" .. n % 17 .. "/p" .. n .. ".html")
end
