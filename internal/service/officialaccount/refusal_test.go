package officialaccount_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Whoever does not operate an account learns nothing of replies, operators, labels and broadcasts, and changes nothing.
func TestOnlyOperatorsActForAnAccount(t *testing.T) {
	w := open(t)
	w.crowd(1)
	b := w.broadcast(&chatv1.CreateBroadcastRequest{})
	w.replies(&chatv1.OfficialReplies{Fallback: text("hello")})
	calls := map[string]func(by id.User, account uint64) error{
		"update": func(by id.User, account uint64) error {
			_, err := w.Update(t.Context(), by, &chatv1.UpdateOfficialAccountRequest{User: account, Replies: &chatv1.OfficialReplies{}})
			return err
		},
		"label": func(by id.User, account uint64) error {
			return w.SetLabel(t.Context(), by, &chatv1.SetFollowerLabelRequest{User: account, Label: "x", Followers: []uint64{uint64(ann)}})
		},
		"replace label": func(by id.User, account uint64) error {
			_, err := w.ReplaceLabel(t.Context(), by, &chatv1.ReplaceFollowerLabelRequest{User: account, Label: "x"})
			return err
		},
		"followers": func(by id.User, account uint64) error {
			_, err := w.ListFollowers(t.Context(), by, &chatv1.ListOfficialFollowersRequest{User: account})
			return err
		},
		"create": func(by id.User, account uint64) error {
			_, err := w.CreateBroadcast(t.Context(), by, &chatv1.CreateBroadcastRequest{User: account, Key: "k", Content: text("x")})
			return err
		},
		"list": func(by id.User, account uint64) error {
			_, err := w.ListBroadcasts(t.Context(), by, &chatv1.ListBroadcastsRequest{User: account})
			return err
		},
		"get": func(by id.User, account uint64) error {
			_, err := w.GetBroadcast(t.Context(), by, b.Id+account-uint64(shop))
			return err
		},
		"change": func(by id.User, account uint64) error {
			_, err := w.ChangeBroadcast(t.Context(), by, &chatv1.ChangeBroadcastRequest{Broadcast: b.Id + account - uint64(shop), Action: chatv1.ChangeBroadcastRequest_ACTION_CANCEL})
			return err
		},
		"operator": func(by id.User, account uint64) error {
			_, err := w.SetOperator(t.Context(), by, &chatv1.SetOfficialOperatorRequest{User: account, Operator: uint64(ann), Role: chatv1.OfficialRole_OFFICIAL_ROLE_ADMIN})
			return err
		},
	}
	for name, call := range calls {
		for _, account := range []uint64{uint64(shop), 77, 1 << 63} {
			if err := call(ann, account); reason(err) != "not_operator" {
				t.Errorf("%s of %d by a user: %v", name, account, err)
			}
		}
	}
	if err := calls["operator"](clerk, uint64(shop)); reason(err) != "not_operator_admin" {
		t.Errorf("an operator names one: %v", err)
	}
	seen, err := w.Get(t.Context(), ann, &chatv1.GetOfficialAccountRequest{Handle: "shop"})
	must(t, err)
	if seen.User != uint64(shop) || seen.Replies != nil || len(seen.Operators) > 0 || seen.Role != 0 || !seen.Following {
		t.Errorf("a follower sees %v", seen)
	}
	if a, err := w.Get(t.Context(), ann, &chatv1.GetOfficialAccountRequest{Channel: seen.Channel}); err != nil || a.User != uint64(shop) {
		t.Errorf("the account of a channel is %v %v", a, err)
	}
	for _, channel := range []uint64{77, 1 << 63} {
		if _, err := w.Get(t.Context(), ann, &chatv1.GetOfficialAccountRequest{Channel: channel}); reason(err) != "no_official_account" {
			t.Errorf("the account of channel %d: %v", channel, err)
		}
	}
	for u, want := range map[id.User]int{shop: 1, clerk: 1, ann: 0} {
		if l, err := w.List(t.Context(), u); err != nil || len(l.Accounts) != want {
			t.Errorf("%d lists %v %v", u, l, err)
		}
	}
	must(t, calls["operator"](shop, uint64(shop)))
	must(t, calls["get"](ann, uint64(shop)))
}

// Of two changes that were made from the same revision, the second is refused.
func TestChangesOfTwoOperators(t *testing.T) {
	w := open(t)
	a, err := w.Get(t.Context(), clerk, &chatv1.GetOfficialAccountRequest{User: uint64(shop)})
	must(t, err)
	change := func() error {
		_, err := w.Update(t.Context(), clerk, &chatv1.UpdateOfficialAccountRequest{User: uint64(shop), Revision: a.Revision, Replies: &chatv1.OfficialReplies{Fallback: text("x")}})
		return err
	}
	must(t, change())
	if err := change(); reason(err) != "changed_meanwhile" {
		t.Errorf("the second change: %v", err)
	}
}

func TestBadMenusAndRepliesAreRefused(t *testing.T) {
	w := open(t)
	link := func(title, url string) *chatv1.OfficialMenuItem {
		return &chatv1.OfficialMenuItem{Title: title, Action: &chatv1.OfficialMenuItem_Url{Url: url}}
	}
	entry := func(item *chatv1.OfficialMenuItem, items ...*chatv1.OfficialMenuItem) *chatv1.OfficialMenu {
		return &chatv1.OfficialMenu{Entries: []*chatv1.OfficialMenuEntry{{Item: item, Items: items}}}
	}
	good := link("a", "https://example.com")
	four := &chatv1.OfficialMenu{Entries: slices.Repeat(entry(good).Entries, 4)}
	title := &chatv1.OfficialMenuItem{Title: "a"}
	for _, c := range []struct {
		menu *chatv1.OfficialMenu
		says string // which limit is broken, and where
	}{
		{four, "at most 3 entries"}, {entry(nil), "entry 1 of the menu has no title"}, {entry(link("", "https://example.com")), "entry 1 of the menu has no title"},
		{entry(link("a", "javascript:alert(1)")), "entry 1 of the menu has no link"}, {entry(good, good), "entry 1 of the menu has items, so it does nothing itself"}, {entry(title), "entry 1 of the menu does nothing"},
		{entry(title, slices.Repeat([]*chatv1.OfficialMenuItem{good}, 6)...), "entry 1 of the menu has more than 5 items"}, {entry(link(strings.Repeat("x", 25), "https://example.com")), "title of 1 to 24 characters"},
		{entry(&chatv1.OfficialMenuItem{}, good), "entry 1 of the menu has no title"}, {entry(title, good, &chatv1.OfficialMenuItem{Title: "b"}), "item 2 in entry 1 of the menu does nothing"},
		{entry(&chatv1.OfficialMenuItem{Title: "a", Action: &chatv1.OfficialMenuItem_Text{Text: "two\nlines"}}), "text of 1 to 200 characters"},
	} {
		if _, err := w.Update(t.Context(), clerk, &chatv1.UpdateOfficialAccountRequest{User: uint64(shop), Menu: c.menu}); reason(err) != "bad_menu" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("got %v, want an error that says %q", err, c.says)
		}
	}
	image := &chatv1.Content{Kind: &chatv1.Content_Image{Image: &chatv1.Media{Upload: 1}}}
	pictured := &chatv1.Content{Kind: &chatv1.Content_Card{Card: &chatv1.Card{Title: "x", Picture: 1}}}
	for i, c := range []*chatv1.Content{image, pictured, text(strings.Repeat("x", 2001)), {}, {Kind: text("x").Kind, ReplyTo: &chatv1.Ref{Seq: 1}}} {
		for _, r := range []*chatv1.OfficialReplies{{Welcome: c}, {Fallback: c}, {Rules: []*chatv1.KeywordRule{{Match: exact, Keywords: []string{"k"}, Reply: c}}}} {
			if _, err := w.Update(t.Context(), clerk, &chatv1.UpdateOfficialAccountRequest{User: uint64(shop), Replies: r}); reason(err) != "bad_reply" {
				t.Errorf("content %d: %v", i, err)
			}
		}
	}
	for i, r := range []*chatv1.KeywordRule{rule(0, "x", "k"), rule(exact, "x"), rule(exact, "x", ""), rule(exact, "x", " "), rule(exact, "x", strings.Repeat("k", 65)), rule(9, "x", "k")} {
		if _, err := w.Update(t.Context(), clerk, &chatv1.UpdateOfficialAccountRequest{User: uint64(shop), Replies: &chatv1.OfficialReplies{Rules: []*chatv1.KeywordRule{r}}}); reason(err) != "bad_rules" {
			t.Errorf("rule %d: %v", i, err)
		}
	}
}

func TestBadBroadcastsAreRefused(t *testing.T) {
	w := open(t)
	for want, list := range map[string][]*chatv1.CreateBroadcastRequest{
		"bad_broadcast": {{}, {Key: strings.Repeat("k", 65)}, {Key: "k", Waves: []uint32{50}}, {Key: "k", Waves: []uint32{50, 50, 100}}, {Key: "k", Waves: []uint32{0, 100}}, {Key: "k", Waves: []uint32{101}},
			{Key: "k", WaveSeconds: 604_801}, {Key: "k", PerMinute: 60_001}, {Key: "k", StartMs: -1}, {Key: "k", StartMs: w.nowMs + 367*24*3_600_000}},
		"bad_audience": {{Key: "k", Audience: &chatv1.BroadcastAudience{Labels: []string{""}}}, {Key: "k", Audience: &chatv1.BroadcastAudience{Languages: []string{"english, please"}}},
			{Key: "k", Audience: &chatv1.BroadcastAudience{Labels: slices.Repeat([]string{"x"}, 11)}}},
	} {
		for i, r := range list {
			r.User, r.Content = uint64(shop), text("x")
			if _, err := w.CreateBroadcast(t.Context(), clerk, r); reason(err) != want {
				t.Errorf("%s %d: error %v, want the reason %q", want, i, err, want)
			}
		}
	}
	for says, r := range map[string]*chatv1.CreateBroadcastRequest{"the key": {}, "10 waves": {Key: "k", Waves: []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100}}, "that rise": {Key: "k", Waves: []uint32{50, 50, 100}}, "the last wave": {Key: "k", Waves: []uint32{50}},
		"waveSeconds": {Key: "k", WaveSeconds: 604_801}, "60,000 messages a minute": {Key: "k", PerMinute: 60_001}, "startMs": {Key: "k", StartMs: -1}} {
		r.User, r.Content = uint64(shop), text("x")
		if _, err := w.CreateBroadcast(t.Context(), clerk, r); reason(err) != "bad_broadcast" || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want an error that says %q", err, says)
		}
	}
	for i := range 20 {
		w.broadcast(&chatv1.CreateBroadcastRequest{Key: strings.Repeat("k", i+1)})
	}
	if _, err := w.CreateBroadcast(t.Context(), clerk, &chatv1.CreateBroadcastRequest{User: uint64(shop), Key: "more", Content: text("x")}); reason(err) != "too_many_broadcasts" {
		t.Errorf("the 21st: %v", err)
	}
}

func TestBadLabelsAndOperatorsAreRefused(t *testing.T) {
	w := open(t)
	w.crowd(1)
	set := func(label string, users ...uint64) error {
		return w.SetLabel(t.Context(), clerk, &chatv1.SetFollowerLabelRequest{User: uint64(shop), Label: label, Followers: users})
	}
	for _, label := range []string{"", " ", "two\nlines", strings.Repeat("x", 33), "\x00"} {
		if err := set(label, uint64(ann)); reason(err) != "bad_label" {
			t.Errorf("the label %q: %v", label, err)
		}
	}
	if err := set("x", slices.Repeat([]uint64{uint64(ann)}, 201)...); reason(err) != "bad_label" {
		t.Errorf("201 followers: %v", err)
	}
	must(t, set("x", 0, 1<<63, 55)) // none of them follows
	for i := range 20 {
		must(t, set(strings.Repeat("x", i+1), uint64(ann)))
	}
	if err := set("more", uint64(ann)); reason(err) != "too_many_labels" {
		t.Errorf("the 21st label: %v", err)
	}
	for _, operator := range []uint64{0, uint64(shop), 1 << 63} {
		if _, err := w.SetOperator(t.Context(), shop, &chatv1.SetOfficialOperatorRequest{User: uint64(shop), Operator: operator, Role: 1}); reason(err) != "bad_operator" {
			t.Errorf("the operator %d: %v", operator, err)
		}
	}
	// A disabled account neither answers nor sends.
	w.replies(&chatv1.OfficialReplies{Fallback: text("hello"), Welcome: text("welcome")})
	_, err := w.Put(t.Context(), &accountv1.PutOfficialAccountRequest{User: uint64(shop), Disabled: true})
	must(t, err)
	w.write(ann, "hi")
	w.follow(ann, true)
	w.answer()
	w.check(ann)
	if _, err := w.CreateBroadcast(t.Context(), clerk, &chatv1.CreateBroadcastRequest{User: uint64(shop), Key: "k", Content: text("x")}); reason(err) != "official_account_disabled" {
		t.Errorf("a broadcast of a disabled account: %v", err)
	}
}
