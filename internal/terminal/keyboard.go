package terminal

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/width"
)

// console is where a person, or a script, reads and writes. Say may be called from many goroutines.
type console interface {
	// Line gives the next line; io.EOF when there is no other.
	Line() (string, error)
	// Ask gives the answer to a question; a secret one is not shown.
	Ask(question string, secret bool) (string, error)
	// Say writes lines.
	Say(text string)
	// Prompt sets what stands before the line that is typed.
	Prompt(text string)
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
		err = nil // the last one may have no end
	}
	return strings.TrimRight(line, "\r\n"), err
}

// Ask writes the question, so that a log can be read.
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

// keyboard is a terminal in raw mode: what is typed stays whole on the last row while lines come in above it. A row that is too
// long is shown in part, around the cursor, and never wrapped, so a wrong guess of a character's width harms only itself.
type keyboard struct {
	in      *bufio.Reader
	columns func() int
	pressed func(first string) // told of each key that changed the line, with the first character; must not block

	mu     sync.Mutex // guards all below, and writing
	out    io.Writer
	prompt string
	text   []rune
	at     int // of the cursor, in text
	hidden bool
	past   [][]rune
	recall int // index in past of what is shown; len(past): none
}

const (
	mostTyped = 100_000 // characters, as in a message
	mostPast  = 200     // lines that can be recalled
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
	k.prompt, k.hidden = question, secret
	k.draw()
	k.mu.Unlock()
	line, err := k.Line()
	k.mu.Lock()
	k.prompt, k.hidden = was, false
	k.mu.Unlock()
	if err == nil && !secret {
		k.Say(question + line)
	}
	return strings.TrimSpace(line), err
}

// Line gives what was typed up to the Enter key, and takes it off the screen.
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
		if k.key(r, pasting) {
			return "", io.EOF
		}
	}
}

// sequence reads what follows an escape character.
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

func (k *keyboard) enter() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	line := string(k.text)
	if strings.TrimSpace(line) != "" && !k.hidden {
		k.past = append(k.past, k.text)
		k.past = k.past[max(0, len(k.past)-mostPast):]
	}
	k.text, k.at, k.recall = nil, 0, len(k.past)
	k.draw()
	return line
}

// key handles one character; it tells whether the user leaves.
func (k *keyboard) key(r rune, pasting bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := len(k.text)
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
		return false // it is drawn when it is whole
	}
	if len(k.text) != before && !k.hidden {
		k.pressed(string(k.text[:min(len(k.text), 1)]))
	}
	k.draw()
	return false
}

func (k *keyboard) insert(r rune) {
	if len(k.text) < mostTyped {
		k.text = slices.Insert(k.text, k.at, r)
		k.at++
	}
}

// move handles the keys that send more than one character.
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

// draw writes the last row anew. The caller holds mu.
func (k *keyboard) draw() {
	text := k.text
	if k.hidden {
		text = nil
	}
	at := min(k.at, len(text))
	room := max(k.columns()-1-cells([]rune(k.prompt)), 8)
	from, to := at, at
	for from > 0 && room >= cells(text[from-1:from]) {
		from--
		room -= cells(text[from : from+1])
	}
	for to < len(text) && room >= cells(text[to:to+1]) {
		room -= cells(text[to : to+1])
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

// cells that a text takes on the screen.
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
