package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// firstPause is the time before a repeated warning is logged again; it doubles up to maxPause while the warning recurs.
	firstPause = time.Second
	maxPause   = time.Minute
	// maxCauses is the number of causes that are remembered; beyond it, those that were silent the longest are forgotten.
	maxCauses = 256
)

// collapse limits repeated warnings of one cause. If 64 partitions wait for one database and each of them warns at each attempt, it logs one
// line, repeats it at growing intervals, and adds how many were omitted. Warnings that differ only in numbers have one cause. Errors are
// collapsed only if they are identical. Lines of other levels are not affected.
func collapse(h slog.Handler) slog.Handler { return &collapser{Handler: h, seen: &causes{}} }

type collapser struct {
	slog.Handler
	seen *causes
}

// causes of recent warnings.
type causes struct {
	mu    sync.Mutex // guards of
	byKey map[string]*cause
}

type cause struct {
	next    time.Time // when it may be logged again
	pause   time.Duration
	omitted int
}

// Handle logs a record, or counts it if its cause was logged a moment ago.
func (c *collapser) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		logged, omitted := c.seen.add(causeOf(r), r.Time)
		if !logged {
			return nil
		}
		if omitted > 0 {
			r = r.Clone()
			r.AddAttrs(slog.Int("omitted", omitted))
		}
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs shares the causes.
func (c *collapser) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &collapser{c.Handler.WithAttrs(attrs), c.seen}
}

// WithGroup shares the causes.
func (c *collapser) WithGroup(name string) slog.Handler {
	return &collapser{c.Handler.WithGroup(name), c.seen}
}

// causeOf returns the cause of a warning: its message, its names and switches, and the text of its error without numbers. That of an error is
// the whole record.
func causeOf(r slog.Record) string {
	var b strings.Builder
	b.WriteString(r.Message)
	all := r.Level > slog.LevelWarn
	r.Attrs(func(a slog.Attr) bool {
		err, failed := a.Value.Any().(error)
		switch {
		case all:
			b.WriteByte(0)
			b.WriteString(a.String())
		case failed:
			b.WriteByte(0)
			b.WriteString(strings.Map(withoutDigits, err.Error()))
		case a.Value.Kind() == slog.KindString, a.Value.Kind() == slog.KindBool:
			b.WriteByte(0)
			b.WriteString(a.Value.String())
		}
		return true
	})
	return b.String()
}

func withoutDigits(c rune) rune {
	if c >= '0' && c <= '9' {
		return -1
	}
	return c
}

// add reports whether a warning is to be logged, and how many of its cause were omitted before.
func (c *causes) add(key string, at time.Time) (logged bool, omitted int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[string]*cause{}
	}
	known := c.byKey[key]
	switch {
	case known == nil:
		if len(c.byKey) >= maxCauses {
			c.forget()
		}
		c.byKey[key] = &cause{next: at.Add(firstPause), pause: firstPause}
		return true, 0
	case at.Before(known.next):
		known.omitted++
		return false, 0
	case at.After(known.next.Add(maxPause)): // it had ended
		known.pause = firstPause
	default:
		known.pause = min(2*known.pause, maxPause)
	}
	omitted, known.omitted, known.next = known.omitted, 0, at.Add(known.pause)
	return true, omitted
}

// forget drops the cause that has been due for the longest. The caller holds mu.
func (c *causes) forget() {
	oldest := ""
	for key, k := range c.byKey {
		if oldest == "" || k.next.Before(c.byKey[oldest].next) {
			oldest = key
		}
	}
	delete(c.byKey, oldest)
}
