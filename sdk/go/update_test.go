package rialto_test

import (
	"slices"
	"testing"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

func text(s string) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}} }

// The updates below are of message 3 of conversation 7. The client's own user is 1.
func update(seq, sender uint64, content *chatv1.Content) *chatv1.Message {
	return &chatv1.Message{Conversation: 7, Seq: seq, Sender: sender, TimeMs: int64(1000 * seq), Content: content}
}

func edited(seq uint64, content *chatv1.Content) *chatv1.Message {
	return update(seq, 2, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: 3}, Content: content}}})
}

func recalled(seq, by uint64) *chatv1.Message {
	return update(seq, by, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: 3}}}})
}

func pinned(seq uint64, remove bool) *chatv1.Message {
	return update(seq, 2, &chatv1.Content{Kind: &chatv1.Content_Pin{Pin: &chatv1.Pin{Target: &chatv1.Ref{Seq: 3}, Remove: remove}}})
}

// reacted is a reaction with 👍, after which so many users have used it.
func reacted(seq, by, version uint64, count uint32, remove bool) *chatv1.Message {
	now := &chatv1.Reactions{Version: version}
	if count > 0 {
		now.Counts = []*chatv1.ReactionCount{{Emoji: "👍", Count: count}}
	}
	return update(seq, by, &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{Seq: 3}, Emoji: "👍", Remove: remove, Reactions: now}}})
}

func thumbs(version uint64, count uint32, mine ...string) *chatv1.Reactions {
	r := &chatv1.Reactions{Version: version, Mine: mine}
	if count > 0 {
		r.Counts = []*chatv1.ReactionCount{{Emoji: "👍", Count: count}}
	}
	return r
}

// Updates are applied by the protocol's rules, and neither the message nor the update is changed.
func TestApplyUpdate(t *testing.T) {
	s := start(t, &server{})
	c, _ := s.client(nil)
	base := func(change func(*chatv1.Message)) *chatv1.Message {
		m := &chatv1.Message{Conversation: 7, Seq: 3, Sender: 2, TimeMs: 1, Content: text("first")}
		change(m)
		return m
	}
	none := func(*chatv1.Message) {}
	recall := func(m *chatv1.Message) { m.Content, m.RecallSeq, m.RecalledBy = nil, 9, 2 }
	other := edited(9, text("other"))
	other.Conversation = 8
	for name, tc := range map[string]struct {
		before  func(*chatv1.Message)
		updates []*chatv1.Message
		after   func(*chatv1.Message)
	}{
		"an edit":       {none, []*chatv1.Message{edited(9, text("new"))}, func(m *chatv1.Message) { m.Content, m.EditSeq, m.EditedMs = text("new"), 9, 9000 }},
		"an older edit": {none, []*chatv1.Message{edited(9, text("new")), edited(8, text("old"))}, func(m *chatv1.Message) { m.Content, m.EditSeq, m.EditedMs = text("new"), 9, 9000 }},
		"an edit again": {none, []*chatv1.Message{edited(9, text("new")), edited(9, text("new"))}, func(m *chatv1.Message) { m.Content, m.EditSeq, m.EditedMs = text("new"), 9, 9000 }},
		"an edit of a message that is recalled later": {none, []*chatv1.Message{edited(9, nil)}, func(m *chatv1.Message) { m.Content, m.EditSeq, m.EditedMs = nil, 9, 9000 }},
		"a recall":                   {none, []*chatv1.Message{edited(7, text("new")), reacted(8, 1, 1, 1, false), recalled(9, 5)}, func(m *chatv1.Message) { m.Content, m.RecallSeq, m.RecalledBy = nil, 9, 5 }},
		"a recall of what is pinned": {none, []*chatv1.Message{pinned(8, false), recalled(9, 5)}, func(m *chatv1.Message) { m.Content, m.PinSeq, m.RecallSeq, m.RecalledBy = nil, 8, 9, 5 }},
		"updates after a recall":     {recall, []*chatv1.Message{edited(10, text("new")), pinned(11, false), reacted(12, 1, 4, 2, false), recalled(13, 6)}, recall},
		"a pin":                      {none, []*chatv1.Message{pinned(9, false)}, func(m *chatv1.Message) { m.Pinned, m.PinSeq = true, 9 }},
		"the removal of a pin":       {none, []*chatv1.Message{pinned(9, false), pinned(10, true)}, func(m *chatv1.Message) { m.PinSeq = 10 }},
		"an older pin":               {none, []*chatv1.Message{pinned(10, true), pinned(9, false)}, func(m *chatv1.Message) { m.PinSeq = 10 }},
		"a reaction":                 {none, []*chatv1.Message{reacted(9, 5, 4, 2, false)}, func(m *chatv1.Message) { m.Reactions = thumbs(4, 2) }},
		"an older reaction":          {none, []*chatv1.Message{reacted(9, 5, 4, 2, false), reacted(10, 6, 3, 1, false)}, func(m *chatv1.Message) { m.Reactions = thumbs(4, 2) }},
		"one's own reaction":         {none, []*chatv1.Message{reacted(9, 1, 4, 2, false), reacted(9, 1, 4, 2, false)}, func(m *chatv1.Message) { m.Reactions = thumbs(4, 2, "👍") }},
		"the removal of one's own reaction, whose counts are known": {func(m *chatv1.Message) { m.Reactions = thumbs(5, 0, "❤️", "👍") },
			[]*chatv1.Message{reacted(9, 1, 5, 0, true)}, func(m *chatv1.Message) { m.Reactions = thumbs(5, 0, "❤️") }},
		"the removal of a reaction that was not there": {none, []*chatv1.Message{reacted(9, 1, 0, 0, true)}, none},
		"the removal by another user":                  {func(m *chatv1.Message) { m.Reactions = thumbs(4, 2, "👍") }, []*chatv1.Message{reacted(9, 5, 5, 1, true)}, func(m *chatv1.Message) { m.Reactions = thumbs(5, 1, "👍") }},
		"an update of another conversation":            {none, []*chatv1.Message{other}, none},
		"an update of another message":                 {func(m *chatv1.Message) { m.Seq = 4 }, []*chatv1.Message{edited(9, text("other"))}, func(m *chatv1.Message) { m.Seq = 4 }},
		"a message":                                    {none, []*chatv1.Message{update(9, 2, text("no update"))}, none},
	} {
		before, m := base(tc.before), base(tc.before)
		for _, u := range tc.updates {
			was, given := m, proto.CloneOf(m)
			sent := proto.CloneOf(u)
			m = c.ApplyUpdate(m, u)
			if !proto.Equal(was, given) || !proto.Equal(u, sent) {
				t.Errorf("%s: the message became %v, the update %v", name, was, u)
			}
		}
		if want := base(tc.after); !proto.Equal(m, want) {
			t.Errorf("%s: %v became %v, want %v", name, before, m, want)
		}
	}
	if m := c.ApplyUpdate(nil, edited(9, text("new"))); m != nil {
		t.Errorf("without a target: got %v", m)
	}
}

func TestUpdateTarget(t *testing.T) {
	for name, tc := range map[string]struct {
		m    *chatv1.Message
		want uint64
	}{
		"an edit":                      {edited(9, text("x")), 3},
		"a recall":                     {recalled(9, 1), 3},
		"a reaction":                   {reacted(9, 1, 1, 1, false), 3},
		"a pin":                        {pinned(9, false), 3},
		"a reply":                      {update(9, 1, &chatv1.Content{Kind: text("x").Kind, ReplyTo: &chatv1.Ref{Seq: 3}}), 0},
		"a recalled message":           {&chatv1.Message{Seq: 3, RecallSeq: 9}, 0},
		"a content of a later version": {update(9, 1, &chatv1.Content{}), 0},
	} {
		if got := rialto.UpdateTarget(tc.m); got != tc.want {
			t.Errorf("%s changes message %d, want %d", name, got, tc.want)
		}
	}
}

// Of the reports of a bridge the highest seq counts, and other bridges have their own.
func TestApplyReportsOfBridges(t *testing.T) {
	s := start(t, &server{})
	c, _ := s.client(nil)
	report := func(seq uint64, bridge, external string) *chatv1.Message {
		return update(seq, 2, &chatv1.Content{Kind: &chatv1.Content_BridgeReport{BridgeReport: &chatv1.BridgeReport{Target: &chatv1.Ref{Seq: 3}, Delivery: &chatv1.BridgeDelivery{Bridge: bridge, ExternalId: external}}}})
	}
	m := &chatv1.Message{Conversation: 7, Seq: 3, Sender: 2, Content: text("first")}
	for _, u := range []*chatv1.Message{report(7, "irc", "i2"), report(6, "xmpp", "x1"), report(5, "irc", "i1"), report(7, "irc", "i2")} {
		m = c.ApplyUpdate(m, u)
	}
	want := []*chatv1.BridgeDelivery{{Bridge: "irc", Seq: 7, ExternalId: "i2"}, {Bridge: "xmpp", Seq: 6, ExternalId: "x1"}}
	if !slices.EqualFunc(m.BridgeDeliveries, want, func(a, b *chatv1.BridgeDelivery) bool { return proto.Equal(a, b) }) {
		t.Errorf("the message says %v, want %v", m.BridgeDeliveries, want)
	}
}
