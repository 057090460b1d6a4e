package indexprocess

import (
	"context"
	"errors"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// reply is what a call returns.
type reply struct {
	Result searchindex.Result
	At     []uint64         // checkpoints
	IDs    []searchindex.ID // of documents that are missing
	Failed bool
	// Message and Cause of the error; Cause is an index of causes, or -1.
	Message string
	Cause   int
}

// causes are the errors that callers tell apart. ErrFormat comes before ErrCorrupt, which it is, too.
var causes = []error{searchindex.ErrFormat, searchindex.ErrCorrupt, context.Canceled, context.DeadlineExceeded, errClosed}

func (r *reply) fail(err error) {
	r.Failed, r.Message, r.Cause = true, err.Error(), -1
	for n, cause := range causes {
		if errors.Is(err, cause) {
			r.Cause = n
			return
		}
	}
}

// err returns the error of the call.
func (r *reply) err() error {
	if !r.Failed {
		return nil
	}
	f := &failure{message: r.Message}
	if r.Cause >= 0 && r.Cause < len(causes) {
		f.cause = causes[r.Cause]
	}
	return f
}

// failure is an error of the other process.
type failure struct {
	message string
	cause   error // nil: none that callers tell apart
}

func (f *failure) Error() string { return f.message }
func (f *failure) Unwrap() error { return f.cause }
