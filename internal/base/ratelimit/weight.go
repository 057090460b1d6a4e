package ratelimit

// The cost of a call depends on the users in it and its bytes, that of messages on their bytes.
const (
	usersPerCall = 10
	// BytesPerCall of a request's body, or of frames without messages, cost as much as one call.
	BytesPerCall = 32 << 10
	// bytesPerMessage of a frame cost as much as one message. At the default rate a user can send 5 MB a second, after 50 MB at once.
	bytesPerMessage = 1 << 10
)

// Calls is the cost of a call with a number of users and of body bytes.
func Calls(users, bytes int) int {
	return max((users+usersPerCall-1)/usersPerCall, 1) + bytes/BytesPerCall
}

// Messages is the cost of a number of messages in a number of bytes.
func Messages(messages, bytes int) int { return max(messages, bytes/bytesPerMessage) }
