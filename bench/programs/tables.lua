-- SPDX-License-Identifier: MIT OR Apache-2.0
--
-- Builds, sorts and joins tables of words; every eighth step goes through an error. Usage: tables.lua COUNT
local count = tonumber(arg[1]) or 100000
local state, lists, errors = 1, {}, 0
for i = 1, count do
  state = (state * 1103515245 + 12345) % 2147483648
  local list = lists[state % 500] or {}
  lists[state % 500] = list
  list[#list + 1] = string.format("w%x:%d", state % 50000, i)
  if i % 8 == 0 then
    errors = errors + (pcall(error, { code = i }) and 0 or 1)
  end
end
local total = 0
for k = 0, 499 do
  if lists[k] then
    table.sort(lists[k])
    total = total + #table.concat(lists[k], ",")
  end
end
print(total, errors)
