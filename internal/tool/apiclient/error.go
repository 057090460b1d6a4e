package apiclient

import (
	"cmp"
	"encoding/base64"
	"errors"
	"strings"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// Codes of the Connect protocol.
const (
	codeUnauthenticated  = "unauthenticated"
	codePermissionDenied = "permission_denied"
	codeUnavailable      = "unavailable"
)

// Error is an answer that refuses a call. Its message is for operators.
type Error struct {
	// Code of the Connect protocol, such as invalid_argument.
	Code string
	// Reason of the server, as of errs.Error; "" if it gave none, or if the key is not accepted.
	Reason  string
	Message string
}

// Error has the message.
func (e *Error) Error() string { return cmp.Or(e.Message, e.Code) }

// passes reports whether the call may succeed later.
func (e *Error) passes() bool {
	return e.Code == codeUnavailable || e.Code == "internal" || e.Code == "deadline_exceeded" || e.Reason == "too_many_requests"
}

// interrupted is the error of a connection that failed.
type interrupted struct{ cause error }

func (i *interrupted) Error() string { return i.cause.Error() }
func (i *interrupted) Unwrap() error { return i.cause }

// passes reports whether what failed may succeed later.
func passes(err error) bool {
	if refused := (*Error)(nil); errors.As(err, &refused) {
		return refused.passes()
	}
	var i *interrupted
	return errors.As(err, &i)
}

// IsRefused reports whether the server has refused what was asked for a reason of its own, and would do so again.
func (e *Error) IsRefused() bool { return e.Reason != "" && !e.passes() }

// failure is an error of the Connect protocol.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details []struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	} `json:"details"`
}

// reason of the server, "" if it gave none.
func (f *failure) reason() string {
	for _, d := range f.Details {
		var said gatewayv1.Error
		if b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(d.Value, "=")); err == nil && d.Type == string(said.ProtoReflect().Descriptor().FullName()) && proto.Unmarshal(b, &said) == nil {
			return said.Reason
		}
	}
	return ""
}

// createKey begins each command that makes a key.
const createKey = "rialto admin key create"

// withoutCommand cuts the server's own advice on how to make a key off its message: the client knows what key the command needs.
func withoutCommand(message string) string {
	before, _, has := strings.Cut(message, createKey)
	if end := strings.LastIndexAny(before, ";:"); has && end > 0 {
		return before[:end]
	}
	return message
}
