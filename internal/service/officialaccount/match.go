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

// match returns the reply of the first rule that matches a text.
func match(rules []*chatv1.KeywordRule, text string) (*chatv1.Content, bool) {
	text = fold(text)
	if text == "" {
		return nil, false
	}
	for _, r := range rules {
		for _, k := range r.Keywords {
			k = fold(k)
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
				return r.Reply, true
			}
		}
	}
	return nil, false
}
