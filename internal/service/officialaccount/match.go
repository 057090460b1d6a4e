package officialaccount

import (
	"strings"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold returns the form in which texts and keywords are compared: without case, without the width of letters, digits and kana, and with single
// spaces.
func fold(text string) string {
	return norm.NFC.String(cases.Fold().String(strings.Join(strings.Fields(norm.NFKC.String(text)), " ")))
}

// matcher has the rules of an account with their keywords folded.
type matcher struct {
	replies  *chatv1.OfficialReplies
	keywords [][]string // of each rule
}

func newMatcher(replies *chatv1.OfficialReplies) *matcher {
	m := &matcher{replies: replies, keywords: make([][]string, len(replies.Rules))}
	for i, r := range replies.Rules {
		for _, k := range r.Keywords {
			m.keywords[i] = append(m.keywords[i], fold(k))
		}
	}
	return m
}

// match returns the reply of the first rule that matches a text, or nil.
func (m *matcher) match(text string) *chatv1.Content {
	if len(m.keywords) == 0 {
		return nil
	}
	if text = fold(text[:min(len(text), matchedBytes)]); text == "" {
		return nil
	}
	for i, r := range m.replies.Rules {
		for _, k := range m.keywords[i] {
			is := false
			switch r.Match {
			case chatv1.KeywordRule_MATCH_EXACT:
				is = text == k
			case chatv1.KeywordRule_MATCH_PREFIX:
				is = strings.HasPrefix(text, k)
			case chatv1.KeywordRule_MATCH_CONTAINS:
				is = strings.Contains(text, k)
			}
			if is {
				return r.Reply
			}
		}
	}
	return nil
}
