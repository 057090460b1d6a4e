// Package progress reports the progress of a long command: percent done, and the remaining time at the present rate. On a terminal it
// rewrites one line; otherwise, such as in a log file, it writes a line every few seconds. All methods are safe for concurrent use.
package progress

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// How often a step is written: on a terminal, and otherwise.
const (
	terminalInterval = 200 * time.Millisecond
	fileInterval     = 5 * time.Second
)

// Printer writes lines, each with the time since the start. A nil *Printer writes nothing.
type Printer struct {
	out      io.Writer
	terminal bool
	now      func() time.Time
	start    time.Time

	mu   sync.Mutex // guards out and all below
	open bool       // the last line can be written over
}

// New creates a printer, usually of standard error.
func New(out io.Writer) *Printer { return newPrinter(out, isTerminal(out), time.Now) }

func newPrinter(out io.Writer, terminal bool, now func() time.Time) *Printer {
	return &Printer{out: out, terminal: terminal, now: now, start: now()}
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

type key struct{}

// With stores a printer in the context of a command's work.
func With(ctx context.Context, p *Printer) context.Context { return context.WithValue(ctx, key{}, p) }

// Of returns the printer of With, or nil, which writes nothing.
func Of(ctx context.Context) *Printer {
	p, _ := ctx.Value(key{}).(*Printer)
	return p
}

// Say writes a line that is not overwritten.
func (p *Printer) Say(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(fmt.Sprintf(format, args...), false)
}

// write writes a line over the last one if that is open. The caller holds mu.
func (p *Printer) write(text string, over bool) {
	begin, end := "", "\n"
	if p.open {
		begin = "\r\x1b[K"
	}
	if over {
		end = ""
	}
	p.open = over
	fmt.Fprintf(p.out, "%s[%5.1fs] %s%s", begin, p.now().Sub(p.start).Seconds(), text, end)
}

// Step is a part of the work. A nil *Step writes nothing.
type Step struct {
	printer *Printer
	name    string
	began   time.Time
	said    time.Time // last; guarded by the printer's mu
}

// Step starts a step.
func (p *Printer) Step(name string) *Step {
	if p == nil {
		return nil
	}
	now := p.now()
	return &Step{printer: p, name: name, began: now, said: now}
}

// At reports how much of the step is done, from 0 to 1, unless it was reported a moment ago; details are added.
func (s *Step) At(done float64, details string) {
	if s == nil {
		return
	}
	p := s.printer
	p.mu.Lock()
	defer p.mu.Unlock()
	now, every := p.now(), fileInterval
	if p.terminal {
		every = terminalInterval
	}
	if now.Sub(s.said) < every {
		return
	}
	s.said = now
	p.write(line(s.name, min(max(done, 0), 1), now.Sub(s.began), details), p.terminal)
}

// End ends the step and its line.
func (s *Step) End() {
	if s == nil {
		return
	}
	s.printer.mu.Lock()
	defer s.printer.mu.Unlock()
	if s.printer.open {
		s.printer.open = false
		fmt.Fprintln(s.printer.out)
	}
}

// line formats the progress of a step after a time.
func line(name string, done float64, took time.Duration, details string) string {
	text := fmt.Sprintf("%s: %.0f %%", name, 100*done)
	if done > 0 && done < 1 {
		text += fmt.Sprintf(", %v left", time.Duration(float64(took)*(1-done)/done).Round(time.Second))
	}
	if details != "" {
		text += ", " + details
	}
	return text
}
