package subtitle

import (
	"html"
	"regexp"
	"strings"
)

// tag of a text that Convert has written, where every other "<" is escaped.
var tag = regexp.MustCompile(`<[^>]*>`)

// Text returns what the cues of a file say that Convert has made, each in a line, without tags. If the file was cut anywhere, its last cue is left out.
func Text(webvtt string, isCut bool) string {
	blocks := strings.Split(webvtt, "\n\n")
	if isCut {
		blocks = blocks[:len(blocks)-1]
	}
	var list []string
	for _, block := range blocks {
		if times, text, ok := strings.Cut(block, "\n"); ok && strings.Contains(times, " --> ") {
			list = append(list, strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(text, ""))), " "))
		}
	}
	return strings.Join(list, "\n")
}
