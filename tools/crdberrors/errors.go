// Package errors stands in for github.com/cockroachdb/errors, of which Pebble uses what is here. That module sends errors to other processes and to
// Sentry, for which it links a second implementation of protobuf with all its types (docs/decisions/0143-smaller-binary.md). Here errors have no
// stacks, details, hints or redaction, which appear nowhere in what Error returns. No function makes an error of nil.
package errors

import (
	"errors"
	"fmt"
)

// New makes an error.
func New(message string) error { return errors.New(message) }

// Newf makes an error of a format, which may have %w.
func Newf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Errorf is Newf.
func Errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// AssertionFailedf makes an error of what must not happen.
func AssertionFailedf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Safe marks a value that contains nothing private. It remains as it is.
func Safe(v any) any { return v }

// Wrap puts a text before an error.
func Wrap(err error, message string) error {
	if err == nil {
		return nil
	}
	return &withPrefix{err, message}
}

// Wrapf puts a text before an error.
func Wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &withPrefix{err, fmt.Sprintf(format, args...)}
}

type withPrefix struct {
	err    error
	prefix string
}

func (e *withPrefix) Error() string {
	if e.prefix == "" {
		return e.err.Error()
	}
	return e.prefix + ": " + e.err.Error()
}

func (e *withPrefix) Unwrap() error { return e.err }

// Mark makes Is(err, mark) true.
func Mark(err, mark error) error {
	if err == nil {
		return nil
	}
	return &withMark{err, mark}
}

type withMark struct{ err, mark error }

func (e *withMark) Error() string        { return e.err.Error() }
func (e *withMark) Unwrap() error        { return e.err }
func (e *withMark) Is(target error) bool { return errors.Is(e.mark, target) }

// CombineErrors returns the first error, of which the second is a detail.
func CombineErrors(err, second error) error {
	if err == nil {
		return second
	}
	return err
}

// WithSecondaryError returns the first error.
func WithSecondaryError(err, _ error) error { return err }

// WithStack returns the error.
func WithStack(err error) error { return err }

// WithDetailf returns the error.
func WithDetailf(err error, _ string, _ ...any) error { return err }

// WithHintf returns the error.
func WithHintf(err error, _ string, _ ...any) error { return err }

// WithSafeDetails returns the error.
func WithSafeDetails(err error, _ string, _ ...any) error { return err }

// Is is that of the standard library.
func Is(err, target error) bool { return errors.Is(err, target) }

// As is that of the standard library.
func As(err error, target any) bool { return errors.As(err, target) }

// Join is that of the standard library.
func Join(errs ...error) error { return errors.Join(errs...) }

// UnwrapAll returns the innermost error.
func UnwrapAll(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
