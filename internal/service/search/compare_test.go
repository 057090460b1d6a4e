package search_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// A user whom the index lacks is found in one round. The repair has the user indexed again.
func TestUsersWhomTheIndexLacksAreFound(t *testing.T) {
	f := open(t, 7)
	c := f.Comparison()
	differences := func() (list []string) {
		t.Helper()
		for at := ""; ; {
			step, err := c.Compare(t.Context(), at, 3)
			must(t, err)
			for _, d := range step.Differences {
				list = append(list, d.Subject)
			}
			if at = step.Next; at == "" {
				return list
			}
		}
	}
	f.catchUp()
	if list := differences(); len(list) != 0 {
		t.Fatalf("%q differ", list)
	}
	f.user() // its change is not read yet
	if list := differences(); len(list) != 0 {
		t.Fatalf("with a user who is not indexed yet, %q differ", list)
	}
	f.catchUp()
	lost := f.users[4]
	must(t, f.Index().Apply(t.Context(), &searchindex.Batch{Delete: []searchindex.ID{{Kind: searchindex.User, Number: uint64(lost)}}}))
	if list, want := differences(), []string{fmt.Sprint("user ", lost)}; !slices.Equal(list, want) {
		t.Fatalf("%q differ, want %q", list, want)
	}
	must(t, c.Repair(t.Context(), fmt.Sprint("user ", lost)))
	f.catchUp()
	if list := differences(); len(list) != 0 {
		t.Errorf("after the repair %q differ", list)
	}
	if err := c.Repair(t.Context(), "nobody"); err == nil {
		t.Error("a subject that names no user is repaired")
	}
}
