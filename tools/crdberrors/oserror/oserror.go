// Package oserror has the errors of files, wrapped or not.
package oserror

import (
	"errors"
	"io/fs"
)

// Errors of the standard library.
var (
	ErrInvalid    = fs.ErrInvalid
	ErrPermission = fs.ErrPermission
	ErrExist      = fs.ErrExist
	ErrNotExist   = fs.ErrNotExist
)

// IsExist says that a file exists.
func IsExist(err error) bool { return errors.Is(err, ErrExist) }

// IsNotExist says that a file does not exist.
func IsNotExist(err error) bool { return errors.Is(err, ErrNotExist) }

// IsPermission says that access is denied.
func IsPermission(err error) bool { return errors.Is(err, ErrPermission) }
