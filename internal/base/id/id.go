// Package id has the typed identifiers of Rialto. The compiler rejects an id of one kind in place of another.
package id

import "strconv"

// Ids of rows are snowflakes: positive, at most 63 bits, text in decimal.
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
	// Room is a chat room.
	Room uint64
)

func (u User) String() string         { return strconv.FormatUint(uint64(u), 10) }
func (d Device) String() string       { return strconv.FormatUint(uint64(d), 10) }
func (s Session) String() string      { return strconv.FormatUint(uint64(s), 10) }
func (c Conversation) String() string { return strconv.FormatUint(uint64(c), 10) }
func (u Upload) String() string       { return strconv.FormatUint(uint64(u), 10) }
func (r Room) String() string         { return strconv.FormatUint(uint64(r), 10) }

// Caller is the authenticated sender of a request.
type Caller struct {
	User    User
	Device  Device
	Session Session
	// Server: the request came with an API key; User may be 0.
	Server bool
	// Key is the name of the API key; "" for a user's token.
	Key string
	// Audit: the API key may read messages as they were stored.
	Audit bool
	// Bot: the request came with the API key of one user, which stands for that user.
	Bot bool
	// Bridge is the name of the bridge whose API key this is, which is a bot's; "" for others.
	Bridge string
	// Role of an API key in the operators' console. Such a key is not a server's, and stands for no user.
	Role OperatorRole
}

// OperatorRole is what an API key may do in the operators' console. The numbers are stored.
type OperatorRole uint8

const (
	// NoOperator: the key is not for the console.
	NoOperator OperatorRole = iota
	// Auditor reads.
	Auditor
	// Operator reads and changes, and does what moderators do.
	Operator
	// Moderator reads what was reported, decides, and bans, and does nothing else.
	Moderator
)

// String is the role's name on the command line, and in the audit log.
func (r OperatorRole) String() string {
	switch r {
	case NoOperator:
		return "none"
	case Auditor:
		return "auditor"
	case Operator:
		return "operator"
	case Moderator:
		return "moderator"
	}
	return "role " + strconv.Itoa(int(r))
}

// May reports whether a role includes another one; NoOperator is included in each.
func (r OperatorRole) May(least OperatorRole) bool {
	return r != NoOperator && (least == NoOperator || r == least || r == Operator)
}

// Hash spreads ids evenly over the low bits. It is the same in every process, and part of the stored formats: partitions derive from it.
func Hash(x uint64) uint64 { // splitmix64's finalizer
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
