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

// searched is a text with the names of files in it.
type searched struct {
	text  string
	names []searchindex.Range
}

func plainText(text string) searched { return searched{text: text} }

// gathered is a searched text that is being put together.
type gathered struct {
	text  strings.Builder
	runes int // of the text
	names []searchindex.Range
}

// add adds a line, unless it is empty.
func (g *gathered) add(line string, isName bool) {
	if line == "" {
		return
	}
	if g.runes > 0 {
		g.text.WriteByte('\n')
		g.runes++
	}
	n := utf8.RuneCountInString(line)
	if isName {
		g.names = append(g.names, searchindex.Range{Start: g.runes, End: g.runes + n})
	}
	g.text.WriteString(line)
	g.runes += n
}

func (g *gathered) searched() searched { return searched{g.text.String(), g.names} }

// textOf returns what is searched of a message: its text, or its caption and the names of its files; empty if it has none.
func textOf(c *chatv1.Content) searched {
	var g gathered
	g.addContent(c)
	return g.searched()
}

func (g *gathered) addContent(c *chatv1.Content) {
	switch k := c.GetKind().(type) {
	case *chatv1.Content_Text:
		g.add(k.Text, false)
	case *chatv1.Content_Location:
		g.add(k.Location.GetLabel(), false)
		g.add(k.Location.GetAddress(), false)
	case *chatv1.Content_Card:
		g.add(k.Card.GetTitle(), false)
		g.add(k.Card.GetText(), false)
	case *chatv1.Content_Forward:
		g.add(k.Forward.GetTitle(), false)
		for _, i := range k.Forward.GetItems() {
			if i.GetContent().GetForward() == nil { // a forward's items are no forwards
				g.addContent(i.GetContent())
			}
		}
	default:
		var list files
		list.addContent(c)
		for _, caption := range list.captions() {
			g.add(caption, false)
		}
		for _, f := range list {
			g.add(f.name(), true)
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
