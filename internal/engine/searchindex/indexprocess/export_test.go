package indexprocess

// MaxHeld is for tests.
const MaxHeld = maxHeld
