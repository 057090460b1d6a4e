// Package join has Join.
package join

import "errors"

// Join is that of the standard library.
func Join(errs ...error) error { return errors.Join(errs...) }
