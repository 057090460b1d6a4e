package terminal

import (
	"context"
	"iter"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/excerpt"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	// previewWithin is how long a message waits for the preview of its link. It is sent without one then.
	previewWithin = 3 * time.Second
	maxAbout      = 160 // characters of what a page says about itself
	maxHost       = 253 // of DNS
)

// webLink is a web address in a text, as the web app finds them. What ends a sentence may follow it.
var webLink = regexp.MustCompile("(?i)https?://[^\\s<>\"'`\u201c\u201d\u2018\u2019\u3000-\u303f\uff00-\uffef]+")

// webLinks yields where the web addresses in a text begin, and the addresses.
func webLinks(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for _, at := range webLink.FindAllStringIndex(text, -1) {
			found := text[at[0]:at[1]]
			link := strings.TrimRight(found, ".,:;!?)]}*_~")
			if strings.HasPrefix(found[len(link):], ")") && strings.Contains(link, "(") {
				link += ")"
			}
			if hostOf(link) != "" && !yield(at[0], link) {
				return
			}
		}
	}
}

// firstLink returns the first web address in a text; empty if there is none.
func firstLink(text string) string {
	for _, link := range webLinks(text) {
		return link
	}
	return ""
}

// hostOf returns the host of a web address, empty if it is none.
func hostOf(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Hostname() == "" || len(u.Hostname()) > maxHost || !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") {
		return ""
	}
	return u.Host
}

// preview shows what a link of a message leads to, or a map of its place, in lines of its own below it and its marks. The host of a page stands before what
// the page says.
func (s *screen) preview(m *chatv1.Message) string {
	if place := m.Content.GetLocation(); place != nil && s.client != nil {
		if address := s.client.MapURL(place); address != "" {
			return s.paint(faint, indented("\n↳ "+plain(address)))
		}
	}
	p := m.Content.GetLinkPreview()
	host := hostOf(p.GetUrl())
	if host == "" {
		return ""
	}
	if p.SiteName != "" && p.SiteName != host {
		host += " · " + p.SiteName
	}
	text := "\n↳ " + oneLine(plain(host+": "+p.Title))
	if p.Description != "" {
		text += "\n  " + excerpt.Marked(oneLine(plain(p.Description)), maxAbout)
	}
	return s.paint(faint, indented(text))
}

// withPreview adds the preview of the first link of a text, which the server reads. A text is sent without one if there is no connection, if the page
// cannot be read in time, or where previews are off.
func (s *screen) withPreview(ctx context.Context, content *chatv1.Content) *chatv1.Content {
	link := firstLink(content.GetText())
	s.mu.Lock()
	wanted := link != "" && s.online && !s.previewsOff
	s.mu.Unlock()
	if !wanted {
		return content
	}
	ctx, cancel := context.WithTimeout(ctx, previewWithin)
	defer cancel()
	p, err := call(ctx, s.client.Chat().PreviewLink, &chatv1.PreviewLinkRequest{Url: link})
	if err == nil {
		content.LinkPreview = p
	} else if rialto.Reason(err) == "previews_off" {
		s.mu.Lock()
		s.previewsOff = true
		s.mu.Unlock()
	}
	return content
}

// composeText returns a text with the mentions and the link preview of a chat's message.
func (s *screen) composeText(ctx context.Context, c *chatv1.Conversation, text string) *chatv1.Content {
	content, err := s.withMentions(ctx, c, textContent(text))
	if err != nil {
		content = textContent(text) // without the server nobody's handle is known
	}
	return s.withPreview(ctx, content)
}
