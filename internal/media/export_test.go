package media

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

// Sweep drops what was never completed, once.
func (s *Service) Sweep(ctx context.Context) error { return s.sweep(ctx) }

// CleanName makes a file's name fit to be shown and saved.
func CleanName(name string) string { return cleanName(name) }

// Slack is how much longer than its messages an upload is kept.
const Slack = slack

// Steps of the room's tables.
func Steps() []string { return steps }

// Cut gives what is kept of an image, and what was found out on the way.
func Cut(file []byte, mime string) (kept []byte, frames int, turned, changed bool, err error) {
	c, err := cutImage(bytes.NewReader(file), mime)
	if err != nil {
		return nil, 0, false, false, err
	}
	kept, err = io.ReadAll(&cutFile{file: bytes.NewReader(file), pieces: c.pieces})
	if err == nil && int64(len(kept)) != c.size {
		err = fmt.Errorf("%d bytes were announced, and %d came", c.size, len(kept))
	}
	return kept, c.frames, c.turned, c.changed(int64(len(file))), err
}
