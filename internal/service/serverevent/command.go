package serverevent

import (
	"strings"

	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
)

const maxCommandName = 32

// commandOf returns the command that a text is: a slash and a name, perhaps with the handle of a bot, and arguments. nil if it is none.
func commandOf(text string) *eventv1.Command {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return nil
	}
	name, arguments := rest, ""
	if end := strings.IndexAny(rest, " \t\r\n"); end >= 0 {
		name, arguments = rest[:end], strings.TrimSpace(rest[end:])
	}
	name, handle, addressed := strings.Cut(name, "@")
	if len(name) == 0 || len(name) > maxCommandName || !isWord(name) || addressed && !isWord(handle) {
		return nil
	}
	return &eventv1.Command{Name: strings.ToLower(name), Arguments: arguments, Handle: strings.ToLower(handle)}
}

// isWord reports whether a text has letters, digits and underscores only, and at least one.
func isWord(text string) bool {
	for _, b := range []byte(text) {
		if (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '_' {
			return false
		}
	}
	return text != ""
}
