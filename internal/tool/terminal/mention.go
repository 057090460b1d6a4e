package terminal

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const maxMentions = 100

// mention of a user by handle, of the admins, or of everybody. A full stop ends a sentence, not a handle.
var mention = regexp.MustCompile(`(?:^|[^\pL\pN_@.])@([a-z0-9_.]*[a-z0-9_])`)

// withMentions adds the mentions of members of a group that its text has: @handle, @admins and, for admins, @everybody.
func (s *screen) withMentions(ctx context.Context, c *chatv1.Conversation, content *chatv1.Content) (*chatv1.Content, error) {
	text := content.GetText()
	found := mention.FindAllStringSubmatchIndex(text, maxMentions)
	if c.Peer != 0 || len(found) == 0 {
		return content, nil
	}
	var handles []string
	for _, at := range found {
		handles = append(handles, text[at[2]:at[3]])
	}
	members, err := s.membersOf(ctx, c, handles)
	if err != nil {
		return nil, err
	}
	for i, at := range found {
		m := &chatv1.Mention{User: members[handles[i]]}
		switch {
		case m.User != 0:
		case handles[i] == "admins":
			m.Role = chatv1.Role_ROLE_ADMIN
		case handles[i] == "everybody" && c.Role >= chatv1.Role_ROLE_ADMIN:
			m.Everybody = true
		default:
			continue // it is a text
		}
		begin := at[2] - len("@")
		m.Start, m.Length = uint32(utf8.RuneCountInString(text[:begin])), uint32(utf8.RuneCountInString(text[begin:at[3]]))
		content.Mentions = append(content.Mentions, m)
	}
	return content, nil
}

// membersOf returns those of some handles that are members' of a group.
func (s *screen) membersOf(ctx context.Context, c *chatv1.Conversation, handles []string) (map[string]uint64, error) {
	handles = slices.Clone(handles)
	slices.Sort(handles)
	r, err := call(ctx, s.client.Account().GetUsers, &accountv1.GetUsersRequest{Handles: slices.Compact(handles)})
	if err != nil {
		return nil, err
	}
	users := map[uint64]string{}
	for _, u := range r.Users {
		users[u.Id] = strings.ToLower(u.Handle)
	}
	members := map[string]uint64{}
	for page := ""; len(members) < len(users); {
		r, err := call(ctx, s.client.Chat().ListMembers, &chatv1.ListMembersRequest{Conversation: c.Id, Limit: pageSize, Page: page})
		if err != nil {
			return nil, err
		}
		for _, m := range r.Members {
			if handle, ok := users[m.User]; ok {
				members[handle] = m.User
			}
		}
		if page = r.Next; page == "" {
			break
		}
	}
	return members, nil
}

// mentionMark stands after a message that mentions the user.
func (s *screen) mentionMark(m *chatv1.Message) string {
	if s.client.Mentioned(m) {
		return phrase("  (@you)")
	}
	return ""
}
