package sqldb

import "strings"

// positional returns a statement with ? in place of the placeholders $1, $2 and so on, and the index of the argument of each. SQLite looks for each $n in a list
// of the names before it, so that parsing and binding a list of 256 took longer than the query.
//
// What is compared with =, and the number of a LIMIT, become expressions of the same value: SQLite plans a statement again whenever the argument of a LIMIT is
// bound, or that of an = changes from or to -1, 0 or 1, which it takes for values that many rows have. Planning took longer than many queries.
func positional(statement string) (text string, order []int) {
	if !strings.Contains(statement, "$") {
		return statement, nil
	}
	var b strings.Builder
	b.Grow(len(statement))
	for i := 0; i < len(statement); {
		switch end := i + 1; {
		case statement[i] == '\'':
			if n := strings.IndexByte(statement[end:], '\''); n >= 0 { // two of them in a text are an end and a beginning
				end += n + 1
			}
			b.WriteString(statement[i:end])
			i = end
		case statement[i] == '$' && end < len(statement) && isDigit(statement[end]):
			n := 0
			for ; end < len(statement) && isDigit(statement[end]); end++ {
				n = 10*n + int(statement[end]-'0')
			}
			order = append(order, n-1)
			switch before := strings.TrimRight(statement[:i], " "); {
			case i >= 6 && strings.EqualFold(statement[i-6:i], "LIMIT "):
				b.WriteString("?+0")
			case strings.HasSuffix(before, "="):
				b.WriteString("+?") // of any type: unlike ?+0, it is no addition
			default:
				b.WriteByte('?')
			}
			i = end
		default:
			b.WriteByte(statement[i])
			i = end
		}
	}
	return b.String(), order
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
