package transcode

import (
	"context"
	"io"
	"time"
)

// ErrTooMuchOutput is for tests.
var ErrTooMuchOutput = errTooMuchOutput

// What programs in the sandbox see.
const (
	SourceInside = sourceInside
	OutInside    = outInside
)

// Script is one of a shell in the sandbox.
type Script struct {
	Shell, Text, Source, Out string
	Timeout                  time.Duration
}

func (s Script) command() command {
	if s.Timeout == 0 {
		s.Timeout = time.Minute
	}
	return command{program: s.Shell, args: []string{"-c", s.Text}, source: s.Source, out: s.Out, maxFile: 1 << 20, timeout: s.Timeout}
}

// Output runs a script, and returns what it prints.
func (t *Transcoder) Output(ctx context.Context, s Script) ([]byte, error) {
	return t.output(ctx, s.command())
}

// Read runs a script, and reads what it prints.
func (t *Transcoder) Read(ctx context.Context, s Script, read func(io.Reader) error) error {
	return t.run(ctx, s.command(), read)
}

// MaxProcesses of a program.
const MaxProcesses = maxProcesses

// CheckDisk checks the files of a folder.
func CheckDisk(dir string, limit int64) error { return checkDisk(dir, limit) }
