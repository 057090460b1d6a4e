package subtitle

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// maxOpen bounds how deep tags are nested. Deeper ones are left out.
const maxOpen = 8

var (
	beginning = regexp.MustCompile(`^<(?:/?[A-Za-z]|` + vttTime + `$)`)
	timeTag   = regexp.MustCompile(`^` + vttTime + `$`)
	class     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
	language  = regexp.MustCompile(`^[A-Za-z0-9-]{1,35}$`)
	reference = regexp.MustCompile(`^&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z0-9]{1,31});`)
	override  = regexp.MustCompile(`\{\\[^{}]*\}`) // of SubStation Alpha, in SRT files
	escape    = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
)

// text is one that is being written.
type text struct {
	out     strings.Builder
	open    []string // names of tags that are not closed
	visible bool     // it has something to see
}

// vttMarkup returns a text of WebVTT with the tags that this package knows; empty if there is nothing to see.
func vttMarkup(from string) string {
	t := &text{}
	return t.read(from, t.vttTag, true)
}

// srtMarkup returns a text of SRT as WebVTT.
func srtMarkup(from string) string {
	t := &text{}
	return t.read(override.ReplaceAllString(from, ""), t.srtTag, false)
}

// read reads a text with tags. References are characters by name or number, such as &lt;, which SRT does not have.
func (t *text) read(from string, tag func(string), references bool) string {
	for from != "" {
		i := strings.IndexAny(from, "<&")
		if i < 0 {
			i = len(from)
		}
		t.write(from[:i])
		if from = from[i:]; from == "" {
			break
		}
		if name, rest, ok := cutTag(from); ok {
			tag(name)
			from = rest
			continue
		}
		if name := reference.FindString(from); name != "" && references && html.UnescapeString(name) != name {
			t.write(strings.Map(drop, html.UnescapeString(name)))
			from = from[len(name):]
			continue
		}
		t.write(from[:1])
		from = from[1:]
	}
	for len(t.open) > 0 {
		t.close()
	}
	if !t.visible {
		return ""
	}
	lines := strings.Split(t.out.String(), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" }), "\n") // a blank line would end the cue
}

// drop leaves out characters that no file may have, nor one more line.
func drop(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// cutTag cuts a tag off. A "<" that begins none is text.
func cutTag(from string) (tag, rest string, ok bool) {
	if tag, rest, ok = strings.Cut(from, ">"); ok && beginning.MatchString(tag) {
		return tag[1:], rest, true
	}
	return "", "", false
}

// write writes what is no markup.
func (t *text) write(s string) {
	t.visible = t.visible || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
	t.out.WriteString(escape.Replace(s))
}

func (t *text) begin(name, rest string) {
	if len(t.open) < maxOpen {
		t.open = append(t.open, name)
		t.out.WriteString("<" + name + rest + ">")
	}
}

// close closes the last tag that is open.
func (t *text) close() {
	t.out.WriteString("</" + t.open[len(t.open)-1] + ">")
	t.open = t.open[:len(t.open)-1]
}

// end closes a tag, and those that were opened in it. One that is not open is left out.
func (t *text) end(name string) {
	at := slices.Index(t.open, name)
	for at >= 0 && len(t.open) > at {
		t.close()
	}
}

// vttTag writes a tag of WebVTT, without its brackets.
func (t *text) vttTag(tag string) {
	if name, ok := strings.CutPrefix(tag, "/"); ok {
		t.end(strings.TrimSpace(name))
		return
	}
	if timeTag.MatchString(tag) {
		t.out.WriteString("<" + tag + ">")
		return
	}
	head, annotation := tag, ""
	if i := strings.IndexAny(tag, " \t\n"); i >= 0 {
		head, annotation = tag[:i], tag[i+1:]
	}
	parts := strings.Split(head, ".")
	name, rest := parts[0], ""
	for _, c := range parts[1:] {
		if class.MatchString(c) {
			rest += "." + c
		}
	}
	annotation = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, html.UnescapeString(annotation))), " ")
	switch name {
	case "b", "i", "u", "c", "ruby":
		t.begin(name, rest)
	case "rt":
		if slices.Contains(t.open, "ruby") {
			t.begin(name, rest)
		}
	case "v":
		if annotation != "" {
			t.begin(name, rest+" "+escape.Replace(annotation))
		}
	case "lang":
		if language.MatchString(annotation) {
			t.begin(name, rest+" "+annotation)
		}
	}
}

// srtTag writes a tag of SRT.
func (t *text) srtTag(tag string) {
	name, closes := strings.CutPrefix(strings.ToLower(strings.TrimSpace(tag)), "/")
	switch {
	case name != "b" && name != "i" && name != "u":
	case closes:
		t.end(name)
	default:
		t.begin(name, "")
	}
}
