package sqldb

import (
	"math/bits"
	"strconv"
	"strings"
)

// Placeholders returns the text of as many placeholders as a list needs, from $first on, and its arguments. There are few different
// statements: the last argument is repeated until there are as many as a power of two. The list is not empty.
func Placeholders[T, A any](first int, list []T, argument func(T) A) (string, []any) {
	n := 1 << bits.Len(uint(len(list)-1))
	placeholders, args := make([]string, n), make([]any, n)
	for i := range n {
		placeholders[i] = "$" + strconv.Itoa(first+i)
		args[i] = argument(list[min(i, len(list)-1)])
	}
	return strings.Join(placeholders, ", "), args
}
