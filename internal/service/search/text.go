package search

import (
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// searchText is what is searched of something, with the names of files in it.
type searchText struct {
	text  string
	names []searchindex.Range
}

func plainText(text string) searchText { return searchText{text: text} }

// textBuilder puts a searchText together, line by line.
type textBuilder struct {
	text  strings.Builder
	runes int // of the text
	names []searchindex.Range
}

// add adds a line, unless it is empty.
func (b *textBuilder) add(line string, isName bool) {
	if line == "" {
		return
	}
	if b.runes > 0 {
		b.text.WriteByte('\n')
		b.runes++
	}
	n := utf8.RuneCountInString(line)
	if isName {
		b.names = append(b.names, searchindex.Range{Start: b.runes, End: b.runes + n})
	}
	b.text.WriteString(line)
	b.runes += n
}

func (b *textBuilder) build() searchText { return searchText{b.text.String(), b.names} }

// textOf returns what is searched of a message: its text, or its caption and the names of its files; empty if it has none.
func textOf(c *chatv1.Content) searchText {
	var b textBuilder
	b.addContent(c)
	return b.build()
}

func (b *textBuilder) addContent(c *chatv1.Content) {
	switch k := c.GetKind().(type) {
	case *chatv1.Content_Text:
		b.add(k.Text, false)
	case *chatv1.Content_Location:
		b.add(k.Location.GetLabel(), false)
		b.add(k.Location.GetAddress(), false)
	case *chatv1.Content_Card:
		b.add(k.Card.GetTitle(), false)
		b.add(k.Card.GetText(), false)
	case *chatv1.Content_Forward:
		b.add(k.Forward.GetTitle(), false)
		for _, i := range k.Forward.GetItems() {
			if i.GetContent().GetForward() == nil { // a forward's items are no forwards
				b.addContent(i.GetContent())
			}
		}
	default:
		var list files
		list.addContent(c)
		for _, caption := range list.captions() {
			b.add(caption, false)
		}
		for _, f := range list {
			b.add(f.name(), true)
		}
	}
}

// textOfPost returns what is searched of a post.
func textOfPost(c *feedv1.PostContent) string { return lines(c.GetTitle(), c.GetText()) }

// textOfUser returns what is searched of a user.
func textOfUser(u *accountv1.User) string { return u.GetDisplayName() + " @" + u.GetHandle() }

// lines joins the parts that are not empty.
func lines(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if p == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p)
	}
	return b.String()
}

func isLinked(text string) bool {
	return strings.Contains(text, "http://") || strings.Contains(text, "https://")
}

// hasLink reports whether a message has a link.
func hasLink(c *chatv1.Content, text string) bool {
	return isLinked(text) || c.GetLinkPreview() != nil || c.GetCard().GetUrl() != ""
}

func postHasLink(c *feedv1.PostContent) bool {
	return c.GetLink() != "" || isLinked(c.GetText())
}

const (
	// A text of more than maxShown characters is cut, to begin shownBefore characters before the first highlight.
	maxShown    = 300
	shownBefore = 60
	maxParts    = 50 // highlights
)

// show returns a text, or the part around the first of some parts, and the parts in it.
func show(text string, parts []searchindex.Range) (string, []*searchv1.Highlight) {
	runes := []rune(text)
	from, to, shift := 0, len(runes), 0
	if len(runes) > maxShown {
		if len(parts) > 0 {
			from = max(0, min(parts[0].Start-shownBefore, len(runes)-maxShown))
		}
		to = min(len(runes), from+maxShown)
	}
	shown := string(runes[from:to])
	if from > 0 {
		shown, shift = "…"+shown, 1
	}
	if to < len(runes) {
		shown += "…"
	}
	var list []*searchv1.Highlight
	for _, p := range parts {
		if p.Start < from || p.End > to || len(list) == maxParts {
			break
		}
		list = append(list, &searchv1.Highlight{Start: uint32(p.Start - from + shift), Length: uint32(p.End - p.Start)})
	}
	return shown, list
}

// divided returns a document with the words of a dictionary; without one, the index divides its text.
func divided(by *searchindex.Dictionary, d searchindex.Document) searchindex.Document {
	if by != nil {
		d.Words = by.Words(d.Text, d.Names...)
	}
	return d
}
