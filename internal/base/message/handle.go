package message

import (
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
)

var reservedHandles = []string{"admin", "administrator", "root", "system", "rialto", "support", "help", "security", "moderator", "everyone", "all", "here"}

// FoldHandle returns the form of a handle by which it is compared, which may not be valid.
func FoldHandle(handle string) string {
	return strings.ToLower(strings.TrimPrefix(strings.TrimSpace(handle), "@"))
}

// ParseHandle returns the stored form of the handle of a user or a channel.
func ParseHandle(handle string) (string, error) {
	h := FoldHandle(handle)
	ok := len(h) >= 3 && len(h) <= 32
	for i := 0; ok && i < len(h); i++ {
		c := h[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.'
	}
	if !ok {
		return "", errs.New(errs.Invalid, "bad_handle", "a handle has 3 to 32 characters of a-z, 0-9, _ and .")
	}
	if slices.Contains(reservedHandles, h) {
		return "", errs.New(errs.Invalid, "reserved_handle", "this handle is reserved; choose another")
	}
	return h, nil
}
