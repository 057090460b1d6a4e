package terminal

import (
	"strings"
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// tagged shows styles as <1>text</>.
func tagged(st style, text string) string {
	if st == "" || text == "" {
		return text
	}
	return "<" + string(st) + ">" + text + "</>"
}

func TestMarkdown(t *testing.T) {
	for source, want := range map[string]string{
		"**bold** and *it* or _it_":                "<1>bold</> and <3>it</> or <3>it</>",
		"**a *b* c** ~~gone~~ `a*b*`":              "<1>a </><1;3>b</><1> c</> <9>gone</> <2>a*b*</>",
		"one\ntwo **b**":                           "one\ntwo <1>b</>",
		"```go\nif *a* {\n\n}\n```\nafter":         "  <2>if *a* {</>\n  \n  <2>}</>\nafter",
		"> one *a*\n> two\n\nafter":                "<2>│ </>one <3>a</>\n<2>│ </>two\nafter",
		"> one\ntwo *a*\nthree":                    "<2>│ </>one\ntwo <3>a</>\nthree",
		"> one\n      two":                         "<2>│ </>one\ntwo",
		"> > a\n> b\nc":                            "<2>│ </><2>│ </>a\n<2>│ </>b\nc",
		"> a\n\n> b\nc\n> d":                       "<2>│ </>a\n<2>│ </>b\nc\n<2>│ </>d",
		"> **a\nb**":                               "<2>│ </>**a\nb**",
		"> - a\n> b":                               "<2>│ </>• a\n<2>│ </>b",
		"- one\n- two\nafter":                      "• one\n• two\nafter",
		"- one\n- two\n  more":                     "• one\n• two\n  more",
		"    indented *a*\n    more":               "indented <3>a</>\nmore",
		"- one\n- two\n  - three":                  "• one\n• two\n  • three",
		"3. three\n4. four":                        "3. three\n4. four",
		"[a page](https://example.com/x_y_z)":      "<4>a page</> <https://example.com/x_y_z>",
		"[bank.com](https://evil.com)":             "<4>bank.com</> <https://evil.com>",
		"https://example.com/a_b_c *d*":            "https://example.com/a_b_c <3>d</>",
		"看https://example.com/a_b_c。*d*":           "看https://example.com/a_b_c。<3>d</>",
		"**中文。**后面":                                "<1>中文。</>后面",
		"\\*not\\* *a*":                            "*not* <3>a</>",
		"# no heading, <b>no HTML</b>, &amp; *a*":  "# no heading, <b>no HTML</b>, &amp; <3>a</>",
		"snake_case_name and 5 > 3":                "snake_case_name and 5 > 3",
		strings.Repeat("*a* ", 600):                strings.Repeat("*a* ", 600),
		strings.Repeat("> ", 100) + "deep":         strings.Repeat("> ", 100) + "deep",
		strings.Repeat("long ", 5000) + "**text**": strings.Repeat("long ", 5000) + "**text**",
	} {
		if got := renderMarkdown(source, tagged); got != want {
			t.Errorf("%.60q is\n%q, want\n%q", source, got, want)
		}
	}
	if got := withoutMarks("**a** `b` [c](https://example.com)"); got != "a b c <https://example.com>" {
		t.Errorf("without marks: %q", got)
	}
}

// 100,000 of any mark are shown as they were typed, and fewer are parsed without delay.
func TestMarkdownIsBounded(t *testing.T) {
	for _, piece := range []string{"[", "*", "**", "_", "~~", "`", "> ", "- ", "[](", "[a](", "*a ", "`a``b", "\\", "![", "](", "* * ", "1. ", "\n> ", "\n- ", "<", "a", " ", "http://"} {
		for _, length := range []int{100_000, 20_000, 1500} {
			source := strings.Repeat(piece, length/len(piece))
			if got := withoutMarks(source); length == 100_000 && got != source {
				t.Errorf("%q × %d is changed", piece, length)
			}
		}
	}
}

// A text shows the host of its link and the title of the page, in one line that the page cannot leave; lists show the text alone.
func TestLinkPreviewsInTheTerminal(t *testing.T) {
	s := newScreen()
	s.people[7] = person{"bob", "Bob"}
	m := &chatv1.Message{Sender: 7, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "**see** https://example.com/a"},
		LinkPreview: &chatv1.LinkPreview{Url: "https://example.com/a", Title: "A page\n08:00  Bob: hi\x1b[2J"}}}
	if got, want := s.lineOf(t, m), "Bob: see https://example.com/a"; got != want {
		t.Errorf("in a list: %q, want %q", got, want)
	}
	if got, want := s.paintedLine(t.Context(), m, "")[7:]+s.preview(m), "Bob: **see** https://example.com/a\n         ↳ example.com: A page 08:00 Bob: hi[2J"; got != want {
		t.Errorf("in the chat: %q, want %q", got, want)
	}
	m.Content.LinkPreview.SiteName, m.Content.LinkPreview.Description = "Site\n\x1b", "About\n"+strings.Repeat("x", maxAbout)
	if got, want := s.preview(m), "\n         ↳ example.com · Site : A page 08:00 Bob: hi[2J\n           About "+strings.Repeat("x", maxAbout-7)+"…"; got != want {
		t.Errorf("with a description: %q, want %q", got, want)
	}
	for _, link := range []string{"javascript:alert(1)", "https:///x", "file://host/x", ""} {
		if got := s.preview(&chatv1.Message{Content: &chatv1.Content{LinkPreview: &chatv1.LinkPreview{Url: link, Title: "A page"}}}); got != "" {
			t.Errorf("a preview of %q: %q", link, got)
		}
	}
	s.colours = true
	if got := s.paintedLine(t.Context(), m, ""); !strings.Contains(got, "\x1b[1msee\x1b[0m https") {
		t.Errorf("with colours: %q", got)
	}
}
