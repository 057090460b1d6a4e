package timeline

import (
	"errors"

	"github.com/rialto-im/rialto/internal/errs"
)

// ErrTaken: another log took the partition; what was to be written there is now that one's work.
var ErrTaken = errors.New("another node works this partition now")

// ErrForming: a record is there, and its entries are not yet; ask again in a moment.
var ErrForming = errors.New("entries of a record are on their way")

// Errors that Append's Done may carry besides the store's own.
var (
	// ErrStale: the access list changed since the caller looked; look again.
	ErrStale = errs.New(errs.Conflict, "stale_access", "the conversation changed; try again")
	// ErrIDReuse: the token is stored with another payload's content. Callers compare contents and report it.
	ErrIDReuse = errs.New(errs.Conflict, "id_reuse", "this client message id was used for another message; use a new one")
	// ErrBusy: the append queue is full.
	ErrBusy = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: 200e6}
	// ErrDamaged: what is stored cannot be read, and will not be by trying again.
	ErrDamaged = errs.New(errs.Internal, "damaged", "the server's store is damaged; its operator must run rialto verify")
	// ErrTooMuch: the entries asked for have more bytes than the caller wants at once; ask for fewer.
	ErrTooMuch = errs.New(errs.Exhausted, "too_much", "ask for less at once")
	// ErrClosed: the log is closing.
	ErrClosed = &errs.Error{Kind: errs.Unavailable, Reason: "closing", Message: "the server is stopping; reconnect", Retry: 1e9}
	// ErrStorageFull: the disk is full; nothing was stored.
	ErrStorageFull = &errs.Error{Kind: errs.Unavailable, Reason: "storage_full", Message: "the server's disk is full; nothing was stored; the operator must free space", Retry: 30e9}
)
