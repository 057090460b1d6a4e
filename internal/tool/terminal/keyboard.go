package terminal

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/excerpt"
	"golang.org/x/text/width"
)

// console reads lines and writes text, for a user or a script. Say is safe for concurrent use.
type console interface {
	// Line returns the next line, or io.EOF.
	Line() (string, error)
	// Ask returns the answer to a question; a secret answer is not shown.
	Ask(question string, secret bool) (string, error)
	// Say writes lines.
	Say(text string)
	// Prompt sets the prompt.
	Prompt(text string)
	// Fill puts a text into the input row, to be changed and sent by the user. It reports whether it did: there is a row, and it was empty.
	Fill(text string) bool
}

// pipe is a console without a keyboard.
type pipe struct {
	in *bufio.Reader

	mu  sync.Mutex // guards out
	out io.Writer
}

func (p *pipe) Line() (string, error) {
	line, err := p.in.ReadString('\n')
	if line != "" {
		err = nil // the last line may lack a newline
	}
	return strings.TrimRight(line, "\r\n"), err
}

// Ask writes the question, so that a log is readable.
func (p *pipe) Ask(question string, _ bool) (string, error) {
	p.mu.Lock()
	fmt.Fprint(p.out, question)
	p.mu.Unlock()
	line, err := p.Line()
	return strings.TrimSpace(line), err
}

func (p *pipe) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, text)
}

func (p *pipe) Prompt(string) {}

func (p *pipe) Fill(string) bool { return false }

// keyboard is a terminal in raw mode: the input stays on the last row while other lines are printed above it. A long row is shown in
// part, around the cursor, and never wrapped, so a wrong guess of a character's width affects only that row.
type keyboard struct {
	in      *bufio.Reader
	columns func() int
	pressed func(line string) // called with the line after it was changed, except by Ctrl-C and the arrow keys; must not block
	// complete returns what the text before the cursor may become, for the Tab key; nil for none. It must not block.
	complete func(before string) completion

	mu     sync.Mutex // guards the fields below, and writing
	out    io.Writer
	prompt string
	text   []rune
	at     int // cursor position in text
	hidden bool
	asking bool // the row is the answer to a question
	tabbed bool // the key before was Tab, and there was more than one choice
	past   [][]rune
	recall int // index of the shown line in past; len(past): none
}

const (
	maxTyped = 100_000 // characters, as in a message
	maxPast  = 200     // lines that can be recalled
)

func newKeyboard(in io.Reader, out io.Writer, columns func() int, pressed func(string)) *keyboard {
	return &keyboard{in: bufio.NewReader(in), out: out, columns: columns, pressed: pressed}
}

func (k *keyboard) Say(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	fmt.Fprint(k.out, "\r\x1b[2K"+strings.ReplaceAll(text, "\n", "\r\n")+"\r\n")
	k.draw()
}

func (k *keyboard) Prompt(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.prompt = text
	k.draw()
}

func (k *keyboard) Ask(question string, secret bool) (string, error) {
	k.mu.Lock()
	was := k.prompt
	k.prompt, k.hidden, k.asking = question, secret, true
	k.draw()
	k.mu.Unlock()
	line, err := k.Line()
	k.mu.Lock()
	k.prompt, k.hidden, k.asking = was, false, false
	k.mu.Unlock()
	if err == nil && !secret {
		k.Say(question + line)
	}
	return strings.TrimSpace(line), err
}

// Line returns the text up to the Enter key, and clears the row.
func (k *keyboard) Line() (string, error) {
	pasting := false
	for {
		r, _, err := k.in.ReadRune()
		if err != nil {
			return "", err
		}
		if r == 0x1b {
			key := k.sequence()
			if key == "[200~" || key == "[201~" {
				pasting = key == "[200~"
			}
			k.move(key)
			continue
		}
		if (r == '\r' || r == '\n') && !pasting {
			return k.enter(), nil
		}
		if r == '\t' && !pasting {
			k.tab()
			continue
		}
		if k.key(r, pasting) {
			return "", io.EOF
		}
	}
}

// sequence reads an escape sequence.
func (k *keyboard) sequence() string {
	r, _, err := k.in.ReadRune()
	if err != nil || r != '[' && r != 'O' {
		return "" // a key with Alt
	}
	s := []rune{r}
	for len(s) < 16 {
		if r, _, err = k.in.ReadRune(); err != nil {
			return ""
		}
		if s = append(s, r); r >= '@' && r <= '~' {
			break
		}
	}
	return string(s)
}

// changed passes on what the row has now, unless it answers a question. The caller holds mu.
func (k *keyboard) changed() {
	if !k.asking {
		k.pressed(string(k.text))
	}
}

func (k *keyboard) Fill(text string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hidden || len(k.text) > 0 {
		return false
	}
	k.text = []rune(excerpt.Of(text, maxTyped))
	k.at = len(k.text)
	k.draw()
	return true
}

func (k *keyboard) enter() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	line := string(k.text)
	if strings.TrimSpace(line) != "" && !k.hidden {
		k.past = append(k.past, k.text)
		k.past = k.past[max(0, len(k.past)-maxPast):]
	}
	k.text, k.at, k.recall = nil, 0, len(k.past)
	k.draw()
	return line
}

// key handles one character; it reports whether the user quits.
func (k *keyboard) key(r rune, pasting bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := len(k.text)
	k.tabbed = false
	switch {
	case pasting && (r == '\r' || r == '\n'):
		k.insert('\n')
	case r == 3 && before > 0, r == 21: // Ctrl-C, Ctrl-U
		k.text, k.at = slices.Clone(k.text[k.at:]), 0
		if r == 3 {
			k.text = nil
		}
	case r == 3, r == 4 && before == 0: // Ctrl-C, Ctrl-D
		return true
	case r == 8 || r == 127:
		if k.at > 0 {
			k.text = slices.Delete(k.text, k.at-1, k.at)
			k.at--
		}
	case r == 4:
		k.text = slices.Delete(k.text, k.at, min(k.at+1, before))
	case r == 11: // Ctrl-K
		k.text = k.text[:k.at]
	case r == 23: // Ctrl-W
		from := k.at
		for from > 0 && k.text[from-1] == ' ' {
			from--
		}
		for from > 0 && k.text[from-1] != ' ' {
			from--
		}
		k.text, k.at = slices.Delete(k.text, from, k.at), from
	case r == 1:
		k.at = 0
	case r == 5:
		k.at = before
	case r == 12: // Ctrl-L
		fmt.Fprint(k.out, "\x1b[2J\x1b[H")
	case r >= ' ' && r != unicode.ReplacementChar:
		k.insert(r)
	}
	if pasting {
		return false // it is drawn when it is complete
	}
	if len(k.text) != before && r != 3 {
		k.changed()
	}
	k.draw()
	return false
}

// tab completes what stands before the cursor, as far as it is the only choice. Pressed again, it lists the choices.
func (k *keyboard) tab() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hidden || k.complete == nil {
		return
	}
	before := string(k.text[:k.at])
	c := k.complete(before)
	if len(c.choices) == 0 {
		return
	}
	typed := before[c.from:]
	word := commonPrefix(c.choices)
	if len(c.choices) == 1 && !strings.HasSuffix(word, "/") {
		word += " "
	}
	if utf8.RuneCountInString(word) > utf8.RuneCountInString(typed) || len(c.choices) == 1 {
		k.replace(utf8.RuneCountInString(before[:c.from]), word)
		k.changed()
		k.tabbed = false
	} else if k.tabbed {
		k.list(c.choices)
	}
	k.tabbed = len(c.choices) > 1
	k.draw()
}

// replace puts a word in place of what stands from an index to the cursor.
func (k *keyboard) replace(from int, word string) {
	word = excerpt.Of(word, maxTyped-(len(k.text)-(k.at-from)))
	k.text = slices.Concat(k.text[:from], []rune(word), k.text[k.at:])
	k.at = from + utf8.RuneCountInString(word)
}

const maxListed = 60 // choices

// list writes choices above the row. The caller holds mu.
func (k *keyboard) list(choices []string) {
	more := ""
	if len(choices) > maxListed {
		more = phrasef("  … and %d more", len(choices)-maxListed)
		choices = choices[:maxListed]
	}
	row, columns := "", k.columns()
	var rows []string
	for _, c := range choices {
		if row != "" && cells([]rune(row))+2+cells([]rune(c)) >= columns {
			rows, row = append(rows, row), ""
		}
		row += "  " + c
	}
	rows = append(rows, row+more)
	fmt.Fprint(k.out, "\r\x1b[2K"+strings.Join(rows, "\r\n")+"\r\n")
}

func (k *keyboard) insert(r rune) {
	if len(k.text) < maxTyped {
		k.text = slices.Insert(k.text, k.at, r)
		k.at++
	}
}

// move handles keys that send escape sequences.
func (k *keyboard) move(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch key {
	case "[D", "OD":
		k.at = max(k.at-1, 0)
	case "[C", "OC":
		k.at = min(k.at+1, len(k.text))
	case "[H", "OH", "[1~":
		k.at = 0
	case "[F", "OF", "[4~":
		k.at = len(k.text)
	case "[3~":
		k.text = slices.Delete(k.text, k.at, min(k.at+1, len(k.text)))
		k.changed()
	case "[201~": // the end of what is pasted
		k.changed()
	case "[A", "OA", "[B", "OB":
		if k.hidden {
			return
		}
		step := 1
		if key[1] == 'A' {
			step = -1
		}
		k.recall = min(max(k.recall+step, 0), len(k.past))
		k.text = nil
		if k.recall < len(k.past) {
			k.text = slices.Clone(k.past[k.recall])
		}
		k.at = len(k.text)
	}
	k.draw()
}

// draw redraws the last row. The caller holds mu.
func (k *keyboard) draw() {
	text := k.text
	if k.hidden {
		text = nil
	}
	at := min(k.at, len(text))
	width := max(k.columns()-1-cells([]rune(k.prompt)), 8)
	from, to := at, at
	for from > 0 && width >= cells(text[from-1:from]) {
		from--
		width -= cells(text[from : from+1])
	}
	for to < len(text) && width >= cells(text[to:to+1]) {
		width -= cells(text[to : to+1])
		to++
	}
	row := "\r\x1b[2K" + k.prompt + visible(text[from:to])
	if back := cells(text[at:to]); back > 0 {
		row += fmt.Sprintf("\x1b[%dD", back)
	}
	fmt.Fprint(k.out, row)
}

func visible(text []rune) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return '↵'
		}
		if r == '\t' {
			return ' '
		}
		return r
	}, string(text))
}

// cells returns the width of a text on the screen.
func cells(text []rune) (n int) {
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
