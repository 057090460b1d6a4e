package terminal

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The Markdown of chats (docs/decisions/0078-markdown.md), as the web app shows it: there is more of it in CommonMark.
const (
	maxMarkdown = 20_000 // bytes; longer texts are shown as they were typed
	maxMarks    = 1000   // likewise: the work for some texts grows with the square of their marks
	maxNested   = 12     // likewise, levels of blocks and marks

	italic    style = "3"
	underline style = "4"
	struck    style = "9"
)

var (
	anyMark         = regexp.MustCompile("(?m)[*_~`\\[>\\\\]|^[ \t]*(?:[-+*]|[0-9]{1,9}[.)])[ \t]")
	countedMark     = regexp.MustCompile("[*_~`\\[\\]>\\\\]|[-+.)][ \t]")
	widePunctuation = regexp.MustCompile(`[\x{3000}-\x{303f}\x{ff00}-\x{ffef}]`)
)

// parseMarkdown returns the blocks of a text, nil if it has no marks or too many.
func parseMarkdown(source string) ast.Node {
	if len(source) > maxMarkdown || !anyMark.MatchString(source) || len(countedMark.FindAllStringIndex(source, maxMarks+1)) > maxMarks {
		return nil
	}
	// Addresses have no marks. Chinese has no spaces, so its punctuation counts as letters, of the same length.
	masked := []byte(widePunctuation.ReplaceAllString(source, "\ue000"))
	for at, link := range webLinks(source) {
		if !strings.HasSuffix(source[:at], "](") {
			copy(masked[at:], bytes.Repeat([]byte("x"), len(link)))
		}
	}
	p := parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewListParser(), 300), util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700), util.Prioritized(parser.NewBlockquoteParser(), 800), util.Prioritized(paragraphParser{parser.NewParagraphParser()}, 1000)),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100), util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewEmphasisParser(), 500), util.Prioritized(extension.NewStrikethroughParser(), 500)))
	root := p.Parse(text.NewReader(masked))
	if depth := 0; ast.Walk(root, func(_ ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			depth--
			return ast.WalkContinue, nil
		}
		if depth++; depth > maxNested {
			return ast.WalkStop, errNested
		}
		return ast.WalkContinue, nil
	}) != nil {
		return nil
	}
	return root
}

// paragraphParser ends the paragraph of a quote or a list item at a line that does not belong to that by its marks. What is indented is no code,
// so that a paragraph may begin so.
type paragraphParser struct{ parser.BlockParser }

func (p paragraphParser) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if last := pc.LastOpenedBlock().Node; last != nil && ast.IsParagraph(last) && last.Parent() == parent {
		return nil, parser.NoChildren // the line continues it
	}
	return p.BlockParser.Open(parent, reader, pc)
}

func (paragraphParser) CanInterruptParagraph() bool { return true }

func (paragraphParser) CanAcceptIndentedLine() bool { return true }

var errNested = errorf("it is nested too deeply")

// markdown returns a plain text with styles in place of its marks. Without colours it is as it was typed.
func (s *screen) markdown(source string) string {
	if !s.colours {
		return source
	}
	return renderMarkdown(source, s.paint)
}

// withoutMarks returns a plain text without its marks.
func withoutMarks(source string) string {
	return renderMarkdown(source, func(_ style, text string) string { return text })
}

func renderMarkdown(source string, paint func(style, string) string) string {
	root := parseMarkdown(source)
	if root == nil {
		return source
	}
	return (&markdownRenderer{[]byte(source), paint}).blocks(root)
}

type markdownRenderer struct {
	source []byte
	paint  func(style, string) string
}

func (r *markdownRenderer) blocks(of ast.Node) string {
	var list []string
	for n := of.FirstChild(); n != nil; n = n.NextSibling() {
		list = append(list, r.block(n))
	}
	return strings.Join(list, "\n")
}

func (r *markdownRenderer) block(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Blockquote:
		return prefixed(r.blocks(n), r.paint(faint, "│ "), r.paint(faint, "│ "))
	case *ast.List:
		var items []string
		for item, i := n.FirstChild(), 0; item != nil; item, i = item.NextSibling(), i+1 {
			items = append(items, prefixed(r.blocks(item), bullet(n, i), "  "))
		}
		return strings.Join(items, "\n")
	case *ast.FencedCodeBlock:
		lines := strings.Split(strings.TrimSuffix(r.linesOf(n), "\n"), "\n")
		for i, line := range lines {
			lines[i] = "  " + r.paint(faint, line)
		}
		return strings.Join(lines, "\n")
	}
	return r.inlines(n, nil)
}

func (r *markdownRenderer) linesOf(n ast.Node) string {
	var b bytes.Buffer
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		b.Write(r.source[at.Start:at.Stop])
	}
	return b.String()
}

func bullet(l *ast.List, i int) string {
	if !l.IsOrdered() {
		return "• "
	}
	return strconv.Itoa(l.Start+i) + ". "
}

// prefixed puts something before the first line of a text, and before the others.
func prefixed(text, first, others string) string {
	return first + strings.ReplaceAll(text, "\n", "\n"+others)
}

func (r *markdownRenderer) inlines(of ast.Node, styles []style) string {
	var b strings.Builder
	for n := of.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			b.WriteString(r.styled(styles, string(util.UnescapePunctuations(r.source[n.Segment.Start:n.Segment.Stop]))))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteString("\n")
			}
		case *ast.CodeSpan:
			b.WriteString(r.inlines(n, append(slices.Clip(styles), faint)))
		case *ast.Emphasis:
			b.WriteString(r.inlines(n, append(slices.Clip(styles), []style{italic, bold}[n.Level-1])))
		case *extensionast.Strikethrough:
			b.WriteString(r.inlines(n, append(slices.Clip(styles), struck)))
		case *ast.Link:
			label := r.inlines(n, append(slices.Clip(styles), underline))
			if b.WriteString(label); !strings.Contains(label, string(n.Destination)) {
				b.WriteString(" <" + string(n.Destination) + ">")
			}
		default:
			b.WriteString(r.inlines(n, styles))
		}
	}
	return b.String()
}

// styled returns a text with several styles.
func (r *markdownRenderer) styled(styles []style, text string) string {
	list := make([]string, len(styles))
	for i, st := range styles {
		list[i] = string(st)
	}
	return r.paint(style(strings.Join(list, ";")), text)
}
