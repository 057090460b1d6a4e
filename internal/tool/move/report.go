package move

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Report of a move.
type Report struct {
	// Rows is the number of rows that this run moved, and Took the time for it.
	Rows uint64
	Took time.Duration
	// The contents that were compared.
	Tables, Conversations, Inboxes int
	Records, Entries, Posts        uint64
	Tokens, Files, FileBytes       uint64
	Compared                       time.Duration
	// Notes are for the operator.
	Notes []string
	// Differences lists the first differences between source and target; More is the number of further ones.
	Differences []string
	More        int

	mu sync.Mutex // guards all fields while parts are compared in parallel
}

const maxListed = 100

func (r *Report) differ(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.Differences) >= maxListed {
		r.More++
		return
	}
	r.Differences = append(r.Differences, fmt.Sprintf(format, args...))
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (r *Report) file(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Files++
	r.FileBytes += uint64(bytes)
}

// Print writes the report as text.
func (r *Report) Print(out io.Writer) {
	if r.Rows > 0 {
		fmt.Fprintf(out, "moved %d rows in %s, %.0f rows/s\n", r.Rows, r.Took.Round(time.Millisecond), float64(r.Rows)/max(r.Took.Seconds(), 1e-3))
	}
	fmt.Fprintf(out, "compared in %s: %d tables with %d rows, %d conversations with %d entries, %d streams with %d entries, %d tokens, %d files with %d bytes\n", r.Compared.Round(time.Millisecond),
		r.Tables, r.Records, r.Conversations, r.Entries, r.Inboxes, r.Posts, r.Tokens, r.Files, r.FileBytes)
	for _, n := range r.Notes {
		fmt.Fprintln(out, n)
	}
	for _, d := range r.Differences {
		fmt.Fprintln(out, "DIFFERENT:", d)
	}
	if r.More > 0 {
		fmt.Fprintf(out, "and %d more\n", r.More)
	}
	if len(r.Differences) == 0 {
		fmt.Fprintln(out, "both sides are equal")
	}
}
