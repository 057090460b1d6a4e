package errs

import (
	"errors"
	"syscall"
	"time"
)

// StorageFull refuses what is not stored because a disk is full.
func StorageFull(cause error) *Error {
	return &Error{Kind: Unavailable, Reason: "storage_full", Message: "the server's disk is full; nothing was stored; the operator must free space", Retry: 30 * time.Second, Cause: cause}
}

// OfDisk returns StorageFull for an error of a disk that is full, or whose quota is used up, and any other error as it is.
func OfDisk(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return StorageFull(err)
	}
	return err
}
