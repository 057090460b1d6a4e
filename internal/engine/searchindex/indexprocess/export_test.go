package indexprocess

// MaxDeferred is for tests.
const MaxDeferred = maxDeferred
