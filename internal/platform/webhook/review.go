package webhook

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// File that a webhook may look at before it decides about what names it.
type File struct {
	Upload string `json:"upload"`
	// URL of the file until ExpiresMs, milliseconds since 1970; without a host unless media.origin is set.
	URL       string `json:"url"`
	ExpiresMs int64  `json:"expiresMs"`
	MimeType  string `json:"mimeType"`
	Bytes     int64  `json:"bytes"`
}

// OnFailure are the values of settings that say what happens while a webhook does not answer that decides about contents. Empty is refuse.
var OnFailure = []string{"", "refuse", "allow", "hold"}

const (
	maxReason = 200 // characters
	// NoAnswer is what moderators are told of what is held because the webhook did not answer.
	NoAnswer = "the webhook did not answer"
)

// ReasonText returns the reason that a webhook gives, in one line of at most 200 characters.
func ReasonText(reason string) string {
	reason = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError || r == 0x7f {
			return ' '
		}
		return r
	}, reason))
	if n := []rune(reason); len(n) > maxReason {
		reason = string(n[:maxReason])
	}
	return reason
}

// HoldText is what moderators are told of what a webhook wants them to decide about. It is not empty.
func HoldText(reason string) string {
	return cmp.Or(ReasonText(reason), "the webhook gives no reason")
}
