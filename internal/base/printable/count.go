package printable

import (
	"strconv"
	"strings"
)

// Count is a number of things: 1 post, 2 posts, 2 replies. It is given one thing's name in English.
func Count[N uint32 | uint64 | int | int64](n N, what string) string {
	text := strconv.FormatInt(int64(n), 10)
	switch before, isY := strings.CutSuffix(what, "y"); {
	case n == 1:
	case isY && before != "" && !strings.ContainsAny(before[len(before)-1:], "aeiou"):
		what = before + "ies"
	default:
		what += "s"
	}
	return text + " " + what
}
