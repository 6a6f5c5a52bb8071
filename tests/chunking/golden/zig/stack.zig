const std = @import("std");
const testing = std.testing;

/// How deep a stack may get.
pub const limit: usize = 64;

/// A stack of bytes.
pub const Stack = struct {
    bytes: [limit]u8 = undefined,
    depth: usize = 0,

    /// Puts one on top.
    pub fn push(self: *Stack, byte: u8) !void {
        if (self.depth == limit) return error.Full;
        self.bytes[self.depth] = byte;
        self.depth += 1;
    }

    pub fn pop(self: *Stack) ?u8 {
        if (self.depth == 0) return null;
        self.depth -= 1;
        return self.bytes[self.depth];
    }
};

const State = enum { open, closed };

fn doubled(number: u32) u32 {
    return number * 2;
}

test "push and pop" {
    var stack = Stack{};
    try stack.push(7);
    try testing.expectEqual(@as(?u8, 7), stack.pop());
}

/// Evaluates an expression in which the operators come last.
///
/// Numbers have one digit, blanks part nothing, and what is left on the stack at the end is the
/// value. A second value that is left there is an error of the one who wrote the expression.
pub fn evaluate(expression: []const u8) !u32 {
    var stack = Stack{};
    for (expression) |symbol| {
        switch (symbol) {
            ' ' => continue,
            '0'...'9' => try stack.push(symbol - '0'),
            '+', '*' => {
                const right = stack.pop() orelse return error.Missing;
                const left = stack.pop() orelse return error.Missing;
                const value: u32 = if (symbol == '+')
                    @as(u32, left) + right
                else
                    @as(u32, left) * right;
                if (value > 255) return error.Overflow;
                try stack.push(@intCast(value));
            },
            else => return error.Unknown,
        }
    }
    const value = stack.pop() orelse return error.Missing;
    if (stack.depth != 0) return error.Surplus;
    return doubled(value) / 2;
}
