-- SPDX-License-Identifier: GPL-2.0-or-later
-- A table of events that nobody takes out. `taken`: they are.
--
-- kind: objects of interpreters without a reader
-- leak lua-queue: leak
--   part: native-blocks
--   code: l_alloc|lua|push
-- healthy lua-queue-taken: taken
--   warm: 15
local taken = arg[1] == 'taken'
local queue, number = {}, 0

local function push(event)
  queue[#queue + 1] = event
  if taken and #queue > 500 then table.remove(queue, 1) end
end

while true do
  for _ = 1, 20 do
    number = number + 1
    push({ number = number, text = string.rep('event ' .. number .. ' ', 40) })
  end
  local until_s = os.clock() + 0.0005
  while os.clock() < until_s do end
  io.popen('sleep 0.05'):close()
end
