package app

import (
	"slices"
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func TestDetailsBySDK(t *testing.T) {
	h, _ := open(t)
	alice, bob := keepCopies(t, h, "alice"), keepCopies(t, h, "bob")
	ctx := t.Context()
	direct, err := alice.OpenDirect(ctx, "bob")
	if err != nil {
		t.Fatal(err)
	}
	first, err := alice.SendText(ctx, direct.Id, "version 1")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"version 2", "version 3"} {
		if _, err := alice.Edit(ctx, direct.Id, first.Seq, text); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []*copies{alice, bob} {
		if _, err := c.React(ctx, direct.Id, first.Seq, "👍"); err != nil {
			t.Fatal(err)
		}
	}
	for _, most := range []int{3, 2} { // all of them, and until the function returns false
		var texts []string
		err := bob.Versions(ctx, direct.Id, first.Seq, func(m *chatv1.Message) bool {
			texts = append(texts, m.Content.GetText())
			return len(texts) < most
		})
		if want := []string{"version 1", "version 2", "version 3"}[:most]; err != nil || !slices.Equal(texts, want) {
			t.Errorf("the versions are %q, %v; want %q", texts, err, want)
		}
	}
	want := []uint64{alice.User(), bob.User()}
	slices.Sort(want)
	for _, most := range []int{2, 1} {
		var users []uint64
		err := bob.Reactors(ctx, direct.Id, first.Seq, "👍", func(u uint64) bool {
			users = append(users, u)
			return len(users) < most
		})
		if err != nil || !slices.Equal(users, want[:most]) {
			t.Errorf("who reacted is %v, %v; want %v", users, err, want[:most])
		}
	}
}
