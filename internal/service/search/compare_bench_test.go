package search_test

import (
	"fmt"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
)

// BenchmarkCompareMessages compares messages of groups of different sizes with the index. An operation is an item of the comparison.
func BenchmarkCompareMessages(b *testing.B) {
	for _, size := range []int{5, 500} { // messages of a group
		b.Run(fmt.Sprint("groups of ", size), func(b *testing.B) {
			f := open(b, 2)
			f.SetSizes(256)
			for n := range 5000 / size {
				g := f.group(f.users[0], fmt.Sprint("Group", n), f.users[1])
				for k := range size {
					f.send(id.Conversation(g), f.users[k%2], fmt.Sprintf("message %d of the group %d, about dinner at eight on the terrace", k, n))
				}
			}
			f.catchUp()
			all := f.Comparisons()
			c := all[len(all)-1]
			b.ResetTimer()
			for at, items := "", 0; items < b.N; {
				step, err := c.Compare(b.Context(), at, min(6000, b.N-items))
				must(b, err)
				if len(step.Differences) > 0 {
					b.Fatalf("differences %v, want none", step.Differences)
				}
				items += max(step.Items, 1)
				at = step.Next
			}
		})
	}
}
