package rialto

import (
	"slices"
	"unicode/utf8"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// AppendMention appends a name, such as "@Ann", to a text content, with a mention whose User, Role or Everybody is set. The server accepts
// mentions of members, in groups, and at most 100 in a message.
func AppendMention(text *chatv1.Content, name string, who *chatv1.Mention) {
	before := text.GetText()
	who.Start, who.Length = uint32(utf8.RuneCountInString(before)), uint32(utf8.RuneCountInString(name))
	text.Kind = &chatv1.Content_Text{Text: before + name}
	text.Mentions = append(text.Mentions, who)
}

// Mentioned reports whether a message mentions this user: by a user's mention, by the role at the time of sending, or with everybody. One's
// own messages mention nobody.
func (c *Client) Mentioned(m *chatv1.Message) bool {
	me := c.User()
	return m.GetSender() != me && slices.ContainsFunc(m.GetContent().GetMentions(), func(n *chatv1.Mention) bool {
		return n.Everybody || n.User == me || slices.Contains(n.Users, me)
	})
}
