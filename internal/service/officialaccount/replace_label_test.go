package officialaccount_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// label sets a label on users, at most 200.
func (w *fixture) label(label string, users ...id.User) {
	w.t.Helper()
	r := &chatv1.SetFollowerLabelRequest{User: uint64(shop), Label: label}
	for _, u := range users {
		r.Followers = append(r.Followers, uint64(u))
	}
	must(w.t, w.SetLabel(w.t.Context(), clerk, r))
}

// replaceLabel replaces a label, and compares the labels of the account in the answer.
func (w *fixture) replaceLabel(label, replacement string, want ...string) {
	w.t.Helper()
	a, err := w.ReplaceLabel(w.t.Context(), clerk, &chatv1.ReplaceFollowerLabelRequest{User: uint64(shop), Label: label, Replacement: replacement})
	must(w.t, err)
	if !slices.Equal(a.Labels, want) {
		w.t.Errorf("%q replaced by %q: the labels are %q, want %q", label, replacement, a.Labels, want)
	}
}

// labelled lists the followers with a label, each with all its labels.
func (w *fixture) labelled(label string) (list []string) {
	w.t.Helper()
	r, err := w.ListFollowers(w.t.Context(), clerk, &chatv1.ListOfficialFollowersRequest{User: uint64(shop), Label: label, Limit: 200})
	must(w.t, err)
	for _, f := range r.Followers {
		list = append(list, fmt.Sprintf("%d %s", id.User(f.User)-ann, strings.Join(f.Labels, ",")))
	}
	return list
}

// A label is renamed for all who have it, also for those who do not follow at the moment. Two labels become one for those who had both.
func TestLabelIsRenamed(t *testing.T) {
	w := open(t)
	w.crowd(4)
	w.label("vip", ann, ann+1, ann+2)
	w.label("gold", ann+1, ann+3)
	w.follow(ann+2, false)
	w.replaceLabel("vip", "friend", "friend", "gold")
	w.replaceLabel("vip", "other", "friend", "gold") // nobody has it any more
	w.follow(ann+2, true)
	if got := w.labelled("friend"); !slices.Equal(got, []string{"0 friend", "1 friend,gold", "2 friend"}) {
		t.Errorf("those with the new label: %q", got)
	}
	w.replaceLabel("gold", "gold", "friend", "gold")
	w.replaceLabel("gold", "friend", "friend")
	if got := w.labelled("friend"); !slices.Equal(got, []string{"0 friend", "1 friend", "2 friend", "3 friend"}) {
		t.Errorf("after the two became one: %q", got)
	}
}

// A label is deleted for more users than a transaction changes, and from those who no longer follow.
func TestLabelIsDeleted(t *testing.T) {
	w := open(t)
	w.crowd(450)
	for from := range 3 {
		var users []id.User
		for n := range 150 {
			users = append(users, ann+id.User(from*150+n))
		}
		w.label("old", users...)
	}
	w.label("new", ann)
	w.follow(ann+449, false)
	w.replaceLabel("old", "", "new")
	w.follow(ann+449, true)
	if got := w.labelled("old"); len(got) != 0 {
		t.Errorf("the deleted label is still on %q", got)
	}
	if got := w.labelled("new"); !slices.Equal(got, []string{"0 new"}) {
		t.Errorf("the other label is on %q", got)
	}
}

// A full account can rename its labels, and a label of another account stays as it is.
func TestLabelOfFullAccountIsRenamed(t *testing.T) {
	w := open(t)
	w.crowd(5)
	var want []string
	for n := range 100 {
		label := fmt.Sprintf("label %02d", n)
		w.label(label, ann+id.User(n/20))
		want = append(want, label)
	}
	want[0] = "a label"
	w.replaceLabel("label 00", "a label", want...)
	for _, r := range []*chatv1.ReplaceFollowerLabelRequest{{Label: ""}, {Label: "two\nlines"}, {Label: "a label", Replacement: strings.Repeat("x", 33)}, {Label: "a label", Replacement: " "}} {
		r.User = uint64(shop)
		if _, err := w.ReplaceLabel(t.Context(), clerk, r); reason(err) != "bad_label" {
			t.Errorf("%q replaced by %q: %v", r.Label, r.Replacement, err)
		}
	}
}
