package terminal

import (
	"errors"
	"fmt"
)

// clientError is an error of the client itself: of a command that cannot be obeyed. It is shown in the user's language.
type clientError struct {
	error
	format string // in English
	args   []any
}

// errorf makes an error of the client. chineseErrors has each format.
func errorf(format string, args ...any) error {
	return &clientError{fmt.Errorf(format, args...), format, args}
}

// Unwrap returns what %w wraps.
func (e *clientError) Unwrap() error { return errors.Unwrap(e.error) }

// inChinese is the error in Chinese.
func (e *clientError) inChinese() string {
	return fmt.Errorf(chineseErrors[e.format], e.args...).Error()
}
