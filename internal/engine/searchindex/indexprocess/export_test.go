package indexprocess

// For tests.
const (
	SlowStart = slowStart
	MaxHeld   = maxHeld
)
