package message

import (
	"slices"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// MaxUserMentions in a post or a comment.
const MaxUserMentions = 50

// AreRanges reports whether mentions have ranges of a text that are in order and do not overlap.
func AreRanges(text string, mentions []*chatv1.Mention) bool {
	end, length := uint64(0), uint64(utf8.RuneCountInString(text))
	for _, m := range mentions {
		start := uint64(m.Start)
		if start < end || m.Length == 0 || start+uint64(m.Length) > length {
			return false
		}
		end = start + uint64(m.Length)
	}
	return true
}

// AreUserMentions reports whether a post or a comment with a text may have these mentions: each names a user, and nothing else.
func AreUserMentions(text string, mentions []*chatv1.Mention) bool {
	other := func(m *chatv1.Mention) bool { return m.User == 0 || m.Role != 0 || m.Everybody || len(m.Users) > 0 }
	return len(mentions) <= MaxUserMentions && AreRanges(text, mentions) && !slices.ContainsFunc(mentions, other)
}

// StoredMentions returns mentions of users as they are stored, without unknown fields. One too many is kept, and refused.
func StoredMentions(sent []*chatv1.Mention) (stored []*chatv1.Mention) {
	for _, m := range sent[:min(len(sent), MaxUserMentions+1)] {
		stored = append(stored, &chatv1.Mention{Start: m.Start, Length: m.Length, User: m.User, Role: m.Role, Everybody: m.Everybody, Users: m.Users})
	}
	return stored
}

// MentionedUsers returns the users whom mentions name, each once.
func MentionedUsers(mentions []*chatv1.Mention) []id.User {
	list := make([]id.User, len(mentions))
	for i, m := range mentions {
		list[i] = id.User(m.User)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ChangedMentions returns the users whom an edit mentions anew, and those whom it does not mention any more.
func ChangedMentions(before, after []*chatv1.Mention) (added, removed []id.User) {
	was, is := MentionedUsers(before), MentionedUsers(after)
	for _, u := range is {
		if !slices.Contains(was, u) {
			added = append(added, u)
		}
	}
	for _, u := range was {
		if !slices.Contains(is, u) {
			removed = append(removed, u)
		}
	}
	return added, removed
}
