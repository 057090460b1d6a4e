package indexprocess

import (
	"bytes"
	"log/slog"
)

const (
	maxLine  = 2 << 10 // bytes of a line that are logged
	maxLines = 100     // of a process that are logged
)

// lines logs what a process writes to its standard error, such as why it failed. It is used by one goroutine.
type lines struct {
	logger *slog.Logger
	rest   []byte // of a line that has not ended
	count  int
}

func (l *lines) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, after, ended := bytes.Cut(b, []byte{'\n'})
		l.rest = append(l.rest, line[:min(len(line), maxLine-len(l.rest))]...)
		if !ended {
			return n, nil
		}
		if text := bytes.TrimSpace(l.rest); len(text) > 0 && l.count < maxLines {
			l.count++
			l.logger.Warn("the process of the search index reports", "line", string(bytes.ToValidUTF8(text, []byte{'?'})))
		}
		l.rest, b = l.rest[:0], after
	}
}
