package rialto_test

import (
	"testing"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func TestMentions(t *testing.T) {
	s := start(t, &server{})
	c, _ := s.client(nil)
	content := text("你好 ")
	rialto.AppendMention(content, "@安", &chatv1.Mention{User: 1})
	content.Kind = &chatv1.Content_Text{Text: content.GetText() + " and "}
	rialto.AppendMention(content, "@admins", &chatv1.Mention{Role: chatv1.Role_ROLE_ADMIN})
	if content.GetText() != "你好 @安 and @admins" {
		t.Errorf("the text is %q", content.GetText())
	}
	runes := []rune(content.GetText())
	for i, want := range []string{"@安", "@admins"} {
		m := content.Mentions[i]
		if got := string(runes[m.Start : m.Start+m.Length]); got != want {
			t.Errorf("mention %d names %q, want %q", i, got, want)
		}
	}
	for want, list := range map[bool][]*chatv1.Mention{
		true:  {{User: 1}, {Everybody: true}, {Role: chatv1.Role_ROLE_ADMIN, Users: []uint64{2, 1}}},
		false: {{User: 2}, {Role: chatv1.Role_ROLE_ADMIN, Users: []uint64{2}}, {}},
	} {
		for _, m := range list {
			if got := c.Mentioned(update(3, 2, &chatv1.Content{Mentions: []*chatv1.Mention{m}})); got != want {
				t.Errorf("%v mentions user 1: %v", m, got)
			}
		}
	}
	if c.Mentioned(update(3, 1, content)) || c.Mentioned(nil) {
		t.Error("one's own message, or none, mentions")
	}
}
