// Package id has the typed identifiers of Rialto. A number of one kind never stands where another is meant.
package id

import "strconv"

// Records' ids are snowflakes: positive, at most 63 bits, text in decimal.
type (
	// User is an account.
	User uint64
	// Device is one installation of a client, of one user.
	Device uint64
	// Session is one login on a device.
	Session uint64
	// Conversation is a one-to-one conversation or a group.
	Conversation uint64
	// Upload is a file.
	Upload uint64
)

func (u User) String() string         { return strconv.FormatUint(uint64(u), 10) }
func (d Device) String() string       { return strconv.FormatUint(uint64(d), 10) }
func (s Session) String() string      { return strconv.FormatUint(uint64(s), 10) }
func (c Conversation) String() string { return strconv.FormatUint(uint64(c), 10) }
func (u Upload) String() string       { return strconv.FormatUint(uint64(u), 10) }

// Caller is who makes a request, after authentication.
type Caller struct {
	User    User
	Device  Device
	Session Session
	// Server: the request came with an API key; User may be 0.
	Server bool
}
