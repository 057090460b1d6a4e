package reconciliation

import (
	"errors"
	"fmt"
	"maps"
	"syscall"
)

// FileDiffers returns a difference of a subject that concerns one of its files.
func FileDiffers(subject string, reason Reason, file string, values Values) *Difference {
	all := Values{"file": file}
	maps.Copy(all, values)
	return &Difference{Subject: subject, Reason: reason, Values: all}
}

// Sizes are the values of the reason FileSize.
func Sizes(is, want int64) Values { return Values{"size": fmt.Sprint(is), "want": fmt.Sprint(want)} }

// Unreadable returns the values of the reason FileUnreadable if the disk cannot read a file, and nil after any other error: a later step may succeed.
func Unreadable(err error) Values {
	if errno := syscall.Errno(0); errors.As(err, &errno) && errno == syscall.EIO {
		return Values{"error": errno.Error()}
	}
	return nil
}
