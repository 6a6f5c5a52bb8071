local utils = require("utils")

local M = {}

--- Seconds of a day.
local DAY = 86400

local function pad(number)
  return string.format("%02d", number)
end

--- A clock face.
-- @param seconds since midnight
function M.face(seconds)
  seconds = seconds % DAY
  return pad(math.floor(seconds / 3600)) .. ":" .. pad(math.floor(seconds / 60) % 60)
end

function M:tick()
  self.seconds = (self.seconds or 0) + 1
  return self
end

M.reset = function(self)
  self.seconds = 0
end

M.zones = {
  utc = function() return 0 end,
  offset = 3600,
}

describe("clock", function()
  it("shows midnight", function()
    assert.are.equal("00:00", M.face(0))
  end)
end)

--- Parses a time of day.
-- Takes "7:30", "07:30" and "7:30:15"; hours go up to 23, because midnight is 0:00 and never 24:00.
-- @param text what was typed
-- @return seconds since midnight, or nil and what was wrong
function M.parse(text)
  local hours, minutes, seconds = text:match("^(%d%d?):(%d%d):?(%d?%d?)$")
  if not hours then
    return nil, "a time of day is written 7:30 or 7:30:15, not " .. text
  end
  hours, minutes, seconds = tonumber(hours), tonumber(minutes), tonumber(seconds) or 0
  if hours > 23 or minutes > 59 or seconds > 59 then
    return nil, "there is no such time of day: " .. text
  end
  return hours * 3600 + minutes * 60 + seconds
end

return M
