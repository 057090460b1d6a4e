// Package errs is the one error type of Rialto: a kind that the doors turn into a code, a stable reason for programs, a
// message safe to show to anyone, and a cause for the log. Kinds become RPC codes in package rpc and frame codes in
// package gateway, nowhere else. A function returns an error or logs it, never both.
package errs

import (
	"errors"
	"io"
	"net"
	"time"
)

// Kind says what a caller can do about an error.
type Kind uint8

// The kinds. Internal is the zero value: an error nobody has classified is ours.
const (
	Internal        Kind = iota // a fault of the server
	Invalid                     // the request is wrong and stays wrong
	NotFound                    // absent, or not for the caller to know
	Conflict                    // exists already, with other content
	Denied                      // known caller, not allowed
	Unauthenticated             // unknown caller
	Exhausted                   // a limit of the caller's is reached
	Unavailable                 // try again
)

var names = [...]string{"internal", "invalid_argument", "not_found", "already_exists", "permission_denied", "unauthenticated", "resource_exhausted", "unavailable"}

// String is the code's name as in Connect.
func (k Kind) String() string { return names[k] }

// Error is an error with a kind.
type Error struct {
	Kind    Kind
	Reason  string        // a stable word for programs, as text_too_long
	Message string        // safe to show; says what to do
	Retry   time.Duration // when to try again; 0: do not
	Cause   error         // for the log only
}

// Error gives reason, message and cause, for logs.
func (e *Error) Error() string {
	s := e.Reason + ": " + e.Message
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New makes an error of a kind.
func New(kind Kind, reason, message string) *Error {
	return &Error{Kind: kind, Reason: reason, Message: message}
}

// Wrap makes an error of a kind around a cause.
func Wrap(kind Kind, reason, message string, cause error) *Error {
	return &Error{Kind: kind, Reason: reason, Message: message, Cause: cause}
}

// Of finds the Error in err's chain. Without one, an error of the network, as of an engine that is away, is Unavailable, and any other
// Internal, with messages that give nothing away; nil stays nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if away(err) {
		return &Error{Kind: Unavailable, Reason: "storage", Message: "the server cannot reach its stores at the moment; try again", Retry: time.Second, Cause: err}
	}
	return &Error{Kind: Internal, Reason: "internal", Message: "the server failed; try again", Cause: err}
}

// away tells that somebody could not be reached, or went while they were asked.
func away(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Is tells whether err is of a kind.
func Is(err error, kind Kind) bool { return err != nil && Of(err).Kind == kind }
