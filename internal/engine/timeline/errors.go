package timeline

import (
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// ErrFenced: another log acquired the partition. Its owner does this work now.
var ErrFenced = errors.New("another node owns this partition now")

// FencedError is the ErrFenced of Acquire.
type FencedError struct {
	// Term in which the store has the partition: that of the refused call, or a later one.
	Term uint64
}

func (e *FencedError) Error() string { return fmt.Sprintf("%v, in term %d", ErrFenced, e.Term) }

// Is reports that the error is an ErrFenced.
func (*FencedError) Is(target error) bool { return target == ErrFenced }

// ErrRecordIncomplete: a fan-out record exists, but its entries are still being written. Retry shortly.
var ErrRecordIncomplete = errors.New("entries of a fan-out record are still being written")

// Errors of appends and reads, besides those of the store.
var (
	// ErrStale: the access version is not the expected one. Load it and try again.
	ErrStale = errs.New(errs.Conflict, "stale_access", "the conversation changed; try again")
	// ErrIDReuse: the token is stored with another payload. Callers compare payloads and report it.
	ErrIDReuse = errs.New(errs.Conflict, "id_reuse", "this client message id was used for another message; use a new one")
	// ErrBusy: the append queue is full.
	ErrBusy = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: 200e6}
	// ErrCorrupt: stored data cannot be read. Retrying does not help.
	ErrCorrupt = errs.New(errs.Internal, "corrupt", "the server's store is corrupt; its operator must run rialto verify")
	// ErrTooLarge: the requested entries exceed the caller's limit in bytes. Request fewer.
	ErrTooLarge = errs.New(errs.Exhausted, "too_much", "ask for less at once")
	// ErrClosed: the log is closing.
	ErrClosed = &errs.Error{Kind: errs.Unavailable, Reason: "closing", Message: "the server is stopping; reconnect", Retry: 1e9}
	// ErrMoving: the timelines are being moved to another store, or are there now. Nothing was stored.
	ErrMoving = &errs.Error{Kind: errs.Unavailable, Reason: "storage", Message: "the server's messages are being moved to another store; try again later", Retry: 10e9}
	// ErrStorageFull: the disk is full; nothing was stored.
	ErrStorageFull = errs.StorageFull(nil)
)
