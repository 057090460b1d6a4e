// Package errs defines the error type of Rialto: a kind that the transports turn into a code, a stable reason for programs, a message that
// is safe to show to anyone, and a cause for the log. Kinds become RPC codes in package rpc and frame codes in
// package gateway, nowhere else. A function returns an error or logs it, never both.
package errs

import (
	"errors"
	"io"
	"net"
	"time"
)

// Kind tells a caller how to handle an error.
type Kind uint8

// The kinds. Internal is the zero value: an unclassified error is the server's.
const (
	Internal        Kind = iota // a fault of the server
	Invalid                     // the request is wrong; a retry fails too
	NotFound                    // absent, or hidden from the caller
	Conflict                    // exists already, with other content
	Denied                      // known caller, not allowed
	Unauthenticated             // unknown caller
	Exhausted                   // the caller has reached a limit
	Unavailable                 // try again
)

var names = [...]string{"internal", "invalid_argument", "not_found", "already_exists", "permission_denied", "unauthenticated", "resource_exhausted", "unavailable"}

// String is the code's name as in Connect.
func (k Kind) String() string { return names[k] }

// Error is an error with a kind.
type Error struct {
	Kind    Kind
	Reason  string        // a stable word for programs, such as text_too_long
	Message string        // safe to show to users; it says what to do
	Retry   time.Duration // when to try again; 0: do not
	Cause   error         // for the log only
	Ban     *Ban          // what the caller is told of a ban; nil for all other errors
}

// Ban is what a client is told that is refused because of a ban.
type Ban struct {
	EndsMs      int64  // in milliseconds since 1970; 0: it has no end
	Explanation string // by a moderator; may be empty
	AppealToken string // with which the user may appeal; empty: the user may not
}

// Error returns reason, message and cause, for logs.
func (e *Error) Error() string {
	s := e.Reason + ": " + e.Message
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New creates an error of a kind.
func New(kind Kind, reason, message string) *Error {
	return &Error{Kind: kind, Reason: reason, Message: message}
}

// Wrap creates an error of a kind around a cause.
func Wrap(kind Kind, reason, message string, cause error) *Error {
	return &Error{Kind: kind, Reason: reason, Message: message, Cause: cause}
}

// IsRefusal reports whether a request was refused and changed nothing. After an internal error, or one that may succeed when retried, the change may
// have been made.
func IsRefusal(err error) bool {
	if err == nil {
		return false
	}
	kind := Of(err).Kind
	return kind != Internal && kind != Unavailable
}

// Of returns the Error in err's chain. Without one, an error of the network, such as of an engine that is down, is Unavailable, and any other
// Internal, with messages that reveal nothing; nil remains nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if isConnectionLoss(err) {
		return &Error{Kind: Unavailable, Reason: "storage", Message: "the server cannot reach its stores at the moment; try again", Retry: time.Second, Cause: err}
	}
	return &Error{Kind: Internal, Reason: "internal", Message: "the server failed; try again", Cause: err}
}

// isConnectionLoss reports whether a server could not be reached, or disconnected during a request.
func isConnectionLoss(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Is reports whether err is of a kind.
func Is(err error, kind Kind) bool { return err != nil && Of(err).Kind == kind }
