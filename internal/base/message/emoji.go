package message

import (
	"strings"
	"unicode"
)

// maxEmojiLen in bytes; the longest emoji of families and flags have 28.
const maxEmojiLen = 32

// IsEmoji reports whether a text may stand for one emoji: at most 32 bytes, with something visible, and without characters by which two
// that look the same could differ.
func IsEmoji(s string) bool {
	return len(s) <= maxEmojiLen && IsLine(s) && HasVisible([]byte(s)) && !strings.ContainsFunc(s, isNotOfEmoji)
}

// isNotOfEmoji reports spaces and invisible characters: with them, two emoji could look the same. The zero-width joiner and the tags of
// flags are parts of emoji.
func isNotOfEmoji(c rune) bool {
	isPart := c == '\u200d' || c >= '\U000e0020' && c <= '\U000e007f'
	return unicode.IsSpace(c) || unicode.Is(unicode.Cf, c) && !isPart
}
